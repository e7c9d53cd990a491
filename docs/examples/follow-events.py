"""Handles every event in the order of the stream: `python3 follow-events.py`. It keeps
checkpoint.json and handled.txt in its folder. After a rewind of the database:
`SINCE=2026-11-21T12:00:00Z python3 follow-events.py`."""
import http.client, json, os, sys, time, urllib.parse, urllib.request

URL = os.environ.get("API_URL", "http://localhost:3001") + "/api/v1/events?"


class AsItComes(urllib.request.HTTPErrorProcessor):
    """Follows no redirect, and makes no exception of an error."""
    def http_response(self, request, response):
        return response
    https_response = http_response


opener = urllib.request.build_opener(AsItComes)


def handle(event):
    """Your work. It may see an event twice after a crash: make it safe to repeat for one id."""
    print(event["id"], event["type"], event["aggregate_id"], flush=True)


def read_page(query):
    """Returns a page of the list. Retries until a retry cannot help."""
    pause = 1
    while True:
        request = urllib.request.Request(URL + urllib.parse.urlencode(query), headers={
            "x-api-key": os.environ["API_KEY"], "User-Agent": "follow-events/1.1"})
        retry_after = ""
        try:
            with opener.open(request, timeout=40) as response:
                status, headers = response.status, response.headers
                text = response.read().decode(errors="replace")
            should_retry, retry_after = headers["X-Should-Retry"], headers.get("Retry-After", "")
            problem = f"{status} {text}"
            if status == 200 and (page := parse_list(text)):
                time.sleep(int(retry_after) if retry_after.isdigit() else 0)
                return page
            transient = status >= 500 or status in (408, 429)
            if should_retry == "false" or (should_retry != "true" and not transient):
                mitigated = f" (cf-mitigated: {headers['cf-mitigated']})" if headers["cf-mitigated"] else ""
                sys.exit(f"{status}{mitigated} " + text.strip().split("\n")[0][:500])
        except (OSError, http.client.HTTPException) as error:
            problem = error
        wait = int(retry_after) if retry_after.isdigit() else pause
        print(f"{problem}, next attempt in {wait} s", file=sys.stderr, flush=True)
        time.sleep(wait)
        pause = min(2 * pause, 30)


def parse_list(text):
    """A login page may respond with 200 too."""
    try:
        page = json.loads(text)
        return page if page["object"] == "list" else None
    except (ValueError, TypeError, KeyError):
        return None


def text_of(file):
    return open(file).read() if os.path.exists(file) else ""


if not os.environ.get("API_KEY"):
    sys.exit("Set API_KEY to a key of the service.")
handled = set(text_of("handled.txt").split("\n"))
checkpoint = json.loads(text_of("checkpoint.json") or '{"since": "", "cursor": ""}')
since = os.environ.get("SINCE")
if since and since != checkpoint["since"]:
    checkpoint = {"since": since, "cursor": ""}

while True:
    query = {"order": "asc", "limit": 100, "wait": 25}
    if checkpoint["since"]:
        query["created_after"] = checkpoint["since"]
    if checkpoint["cursor"]:
        query["cursor"] = checkpoint["cursor"]
    page = read_page(query)
    for event in page["data"]:
        if event["id"] in handled:
            continue
        handle(event)
        handled.add(event["id"])
        with open("handled.txt", "a") as file:
            file.write(event["id"] + "\n")
    checkpoint["cursor"] = page["resume_cursor"]
    with open("checkpoint.new", "w") as file:
        json.dump(checkpoint, file)
    os.replace("checkpoint.new", "checkpoint.json")
