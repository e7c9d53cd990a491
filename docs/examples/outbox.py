"""outbox.py: `python3 outbox.py bk_7 4` stores a booking, `python3 outbox.py` sends the outbox."""
import datetime, http.client, json, os, sqlite3, sys, time, urllib.request, uuid

URL = os.environ.get("API_URL", "http://localhost:3001") + "/api/public/events/ingest"
NAMESPACE = uuid.UUID("3c0f4e0e-7b52-4d0c-9a56-1f2be2d7c9a4")
db = sqlite3.connect("bookings.sqlite")
db.executescript("""
    CREATE TABLE IF NOT EXISTS bookings (id TEXT PRIMARY KEY, guests INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS outbox (
        seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, event TEXT NOT NULL, problem TEXT);
""")


class AsItComes(urllib.request.HTTPErrorProcessor):
    """Follows no redirect, and makes no exception of an error."""
    def http_response(self, request, response):
        return response
    https_response = http_response


opener = urllib.request.build_opener(AsItComes)


def book(booking, guests):
    """Stores a booking and its event in one transaction."""
    occurred_at = datetime.datetime.now(datetime.timezone.utc).isoformat()
    event = {"event_type": "booking.created", "aggregate_type": "booking", "aggregate_id": booking,
             "payload": {"occurred_at": occurred_at, "guests": guests}}
    with db:
        db.execute("INSERT INTO bookings VALUES (?, ?)", (booking, guests))
        db.execute("INSERT INTO outbox (key, event) VALUES (?, ?)",
                   (f"bookings-{booking}-created", json.dumps(event)))


def is_event(text, key):
    """A login page may respond with 200 too. Only the event itself shows that it is stored."""
    try:
        body = json.loads(text)
        return body["object"] == "event" and body["id"] == str(uuid.uuid5(NAMESPACE, key))
    except (ValueError, TypeError, KeyError):
        return False


def send(key, event):
    """Sends an event until a retry cannot help. Returns the status and the text of the response."""
    pause = 1
    while True:
        request = urllib.request.Request(URL, event.encode(), {
            "x-api-key": os.environ["API_KEY"], "Content-Type": "application/json",
            "Idempotency-Key": key, "User-Agent": "bookings-outbox/1.1"})
        retry_after, status = "", 0
        try:
            with opener.open(request, timeout=15) as response:
                status, headers = response.status, response.headers
                text = response.read().decode(errors="replace")
            problem = f"{status} {text}"
            should_retry, retry_after = headers["X-Should-Retry"], headers.get("Retry-After", "")
        except (OSError, http.client.HTTPException) as error:
            problem, status, should_retry = error, 0, "true"  # the event may be stored or not
        if should_retry == "false" or (200 <= status < 300 and is_event(text, key)):
            return status, text
        if should_retry != "true" and status < 500 and status not in (408, 429):
            first_line = text.strip().split("\n")[0][:200]
            mitigated = headers.get("cf-mitigated")
            reason = f" (cf-mitigated: {mitigated})" if mitigated else ""
            sys.exit(f"{key}: not a response of the service: {status}{reason} {first_line}")
        wait = int(retry_after) if retry_after.isdigit() else pause
        print(f"{key}: {problem}, next attempt in {wait} s", file=sys.stderr, flush=True)
        time.sleep(wait)
        pause = min(2 * pause, 30)


if sys.argv[1:]:
    book(sys.argv[1], int(sys.argv[2]))
    sys.exit()
if not os.environ.get("API_KEY"):
    sys.exit("Set API_KEY to a key of the service.")
while True:
    oldest = "SELECT seq, key, event FROM outbox WHERE problem IS NULL ORDER BY seq LIMIT 1"
    row = db.execute(oldest).fetchone()
    if row is None:
        time.sleep(1)
        continue
    seq, key, event = row
    status, text = send(key, event)
    if status not in (200, 202, 400, 409, 413):
        sys.exit(f"{key}: {status} {text}")
    with db:
        if status < 300:
            db.execute("DELETE FROM outbox WHERE seq = ?", (seq,))
        else:
            db.execute("UPDATE outbox SET problem = ? WHERE seq = ?", (text, seq))
    print(key, status, flush=True)
