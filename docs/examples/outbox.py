"""`python3 outbox.py bk_7 4` stores a booking for four guests. `python3 outbox.py` sends the outbox."""
import datetime, http.client, json, os, sqlite3, sys, time, urllib.parse, urllib.request, uuid

URL = os.environ.get("API_URL", "http://localhost:3001")
AGENT = {"User-Agent": "bookings-outbox/1.1"}
NAMESPACE = uuid.UUID("3c0f4e0e-7b52-4d0c-9a56-1f2be2d7c9a4")
TIMEOUT_SECONDS = 15
db = sqlite3.connect("bookings.sqlite", timeout=5)
TABLES = """
    CREATE TABLE IF NOT EXISTS bookings (id TEXT PRIMARY KEY, guests INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS outbox (
        seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
        event TEXT NOT NULL CHECK (json_valid(event)), problem TEXT);
"""
# The oldest row that can be sent. A rejected row holds back the later rows of its booking.
OLDEST = """
    SELECT seq, key, event FROM outbox AS waiting WHERE problem IS NULL AND NOT EXISTS (
        SELECT 1 FROM outbox AS aside WHERE aside.problem IS NOT NULL AND aside.seq < waiting.seq
            AND json_extract(aside.event, '$.aggregate_type', '$.aggregate_id')
                = json_extract(waiting.event, '$.aggregate_type', '$.aggregate_id'))
    ORDER BY seq LIMIT 1"""


class UnchangedResponse(urllib.request.HTTPErrorProcessor):
    """Returns redirects and errors as ordinary responses."""
    def http_response(self, request, response):
        return response
    https_response = http_response


opener = urllib.request.build_opener(UnchangedResponse)


def when_unlocked(run):
    """Runs statements. Retries while another program locks the database."""
    while True:
        try:
            with db:
                return run()
        except sqlite3.OperationalError as error:
            # Matches "database is locked", "database table is locked" and "locking protocol".
            if "lock" not in str(error):
                raise
            print(f"bookings.sqlite: {error}, next attempt in 1 s", file=sys.stderr, flush=True)
            time.sleep(1)


def book(booking, guests):
    """Stores a booking and its event in one transaction."""
    occurred_at = datetime.datetime.now(datetime.timezone.utc).isoformat()
    event = {"event_type": "booking.created", "aggregate_type": "booking", "aggregate_id": booking,
             "payload": {"occurred_at": occurred_at, "guests": guests}}
    # HTTP clients agree only on ASCII headers, and RFC 3986 encoding is the same in every language.
    key = f"bookings-{urllib.parse.quote(booking, safe='')}-created"
    with db:
        db.execute("INSERT INTO bookings VALUES (?, ?)", (booking, guests))
        db.execute("INSERT INTO outbox (key, event) VALUES (?, ?)", (key, json.dumps(event)))


def attempt(request):
    """Returns the complete response. Raises an error if it is incomplete: a connection that ends early
    can leave half a JSON document, or no header with the length of the body."""
    with opener.open(request, timeout=TIMEOUT_SECONDS) as response:
        text, headers = response.read().decode(errors="replace"), response.headers
    is_json = "json" in headers.get("Content-Type", "")
    has_end = "Content-Length" in headers or "Transfer-Encoding" in headers
    if (is_json or not has_end) and response.status // 100 != 3:
        json.loads(text)
    return response.status, headers, text


def is_event(text, key):
    """Whether a response is the stored event. A login page can also have the status 200."""
    try:
        body = json.loads(text)
        return body["object"] == "event" and body["id"] == str(uuid.uuid5(NAMESPACE, key))
    except (ValueError, TypeError, KeyError):
        return False


def is_served():
    """Whether the service responds to a request without an event, which a firewall should let pass."""
    try:
        status, _, text = attempt(urllib.request.Request(URL + "/api/health", headers=AGENT))
        return status == 200 and json.loads(text)["object"] == "health"
    except (OSError, http.client.HTTPException, ValueError, TypeError, KeyError):
        return False


def send(key, event):
    """Sends an event and retries as long as a retry can help. Returns the response's status and text."""
    pause, is_again = 1, False
    while True:
        request = urllib.request.Request(URL + "/api/public/events/ingest", event.encode(), {
            "x-api-key": os.environ["API_KEY"], "Content-Type": "application/json",
            "Idempotency-Key": key, **AGENT})
        try:
            status, headers, text = attempt(request)
            problem = f"{status} {text}"
        except (OSError, http.client.HTTPException, ValueError) as error:
            # Without a response, it is unknown if the event was stored. The next attempt makes it certain.
            status, headers, problem = 0, {"X-Should-Retry": "true"}, error
        should_retry, retry_after = headers.get("X-Should-Retry"), headers.get("Retry-After", "")
        is_rejected = should_retry == "false" and status in (400, 409, 413)
        if is_rejected or (200 <= status < 300 and is_event(text, key)):
            return status, text
        if should_retry == "false":
            sys.exit(f"{key}: {status} {text}")
        if should_retry != "true" and status < 500 and status not in (408, 429):
            about = "".join(f" ({name}: {headers[name]})" for name in ("cf-ray", "cf-mitigated")
                            if name in headers)
            first_line = text.strip().split("\n")[0][:200]
            reason = f"not a response of the service: {status}{about} {first_line}"
            # If a firewall rejects the event twice but lets another request pass, it rejects the event's text.
            if status < 400 or not is_served():
                sys.exit(f"{key}: {reason}")
            if is_again:
                return status, reason
            is_again = True
            continue
        wait = max(1, min(int(retry_after[:9]), 3600)) if retry_after.isdecimal() else pause
        print(f"{key}: {problem}, next attempt in {wait} s", file=sys.stderr, flush=True)
        time.sleep(wait)
        pause = min(2 * pause, 30)


when_unlocked(lambda: db.executescript(TABLES))
if sys.argv[1:]:
    book(sys.argv[1], int(sys.argv[2]))
    sys.exit()
if not os.environ.get("API_KEY"):
    sys.exit("Set API_KEY to a key of the service.")
while True:
    row = when_unlocked(lambda: db.execute(OLDEST).fetchone())
    if row is None:
        time.sleep(1)
        continue
    seq, key, event = row
    status, text = send(key, event)
    if status < 300:
        when_unlocked(lambda: db.execute("DELETE FROM outbox WHERE seq = ?", (seq,)))
    else:
        when_unlocked(lambda: db.execute("UPDATE outbox SET problem = ? WHERE seq = ?", (text, seq)))
    print(key, status, flush=True)
