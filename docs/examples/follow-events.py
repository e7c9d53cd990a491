"""Handles every event in the order of the stream. Run it with `python3 follow-events.py`. It stores
checkpoint.json and handled.txt in the current folder. After a restore of the database, start it with
the time of the backup: `SINCE=2026-11-21T12:00:00Z python3 follow-events.py`."""
import http.client, json, os, sys, time, urllib.parse, urllib.request

URL = os.environ.get("API_URL", "http://localhost:3001") + "/api/v1/events?"
# Time limit for one attempt. It is longer than a request with `wait` can take.
TIMEOUT_SECONDS = 40


class UnchangedResponse(urllib.request.HTTPErrorProcessor):
    """Returns redirects and errors as ordinary responses."""
    def http_response(self, request, response):
        return response
    https_response = http_response


opener = urllib.request.build_opener(UnchangedResponse)


def handle(event):
    """Replace the body with your own work. After a crash, the same event can arrive twice."""
    print(event["id"], event["type"], event["aggregate_id"], flush=True)


def attempt(request):
    """Returns the complete response. Raises an error if it is incomplete: a connection that ends early
    can leave half a JSON document, or no header with the length of the body."""
    with opener.open(request, timeout=TIMEOUT_SECONDS) as response:
        text, headers = response.read().decode(errors="replace"), response.headers
    is_json = "json" in headers.get("Content-Type", "")
    has_end = "Content-Length" in headers or "Transfer-Encoding" in headers
    needs_json = (is_json or not has_end) and response.status // 100 != 3
    return response.status, headers, text, json.loads(text) if needs_json else None


def read_page(query):
    """Returns a page of the list. Retries as long as a retry can help."""
    pause = 1
    while True:
        request = urllib.request.Request(URL + urllib.parse.urlencode(query), headers={
            "x-api-key": os.environ["API_KEY"], "User-Agent": "follow-events/1.1"})
        try:
            status, headers, text, page = attempt(request)
            problem = f"{status} {text}"
        except (OSError, http.client.HTTPException, ValueError) as error:
            status, headers, problem = 0, {"X-Should-Retry": "true"}, error
        should_retry, retry_after = headers.get("X-Should-Retry"), headers.get("Retry-After", "")
        asked = max(1, min(int(retry_after[:9]), 3600)) if retry_after.isdecimal() else None
        if status == 200 and isinstance(page, dict) and page.get("object") == "list":
            time.sleep(asked or 0)
            return page
        transient = status >= 500 or status in (408, 429)
        if should_retry == "false" or (should_retry != "true" and not transient):
            foreign = "" if should_retry else "not a response of the service: "
            mitigated = f" (cf-mitigated: {headers['cf-mitigated']})" if headers["cf-mitigated"] else ""
            sys.exit(f"{foreign}{status}{mitigated} " + text.strip().split("\n")[0][:500])
        wait = asked or pause
        print(f"{problem}, next attempt in {wait} s", file=sys.stderr, flush=True)
        time.sleep(wait)
        pause = min(2 * pause, 30)


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
