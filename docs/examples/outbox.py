"""outbox.py: `python3 outbox.py bk_7 4` stores a booking, `python3 outbox.py` sends the outbox."""
import datetime, http.client, json, os, sqlite3, sys, time, urllib.error, urllib.request

URL = os.environ.get("API_URL", "http://localhost:3001") + "/api/public/events/ingest"
db = sqlite3.connect("bookings.sqlite")
db.executescript("""
    CREATE TABLE IF NOT EXISTS bookings (id TEXT PRIMARY KEY, guests INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS outbox (
        seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, event TEXT NOT NULL, problem TEXT);
""")


def book(booking, guests):
    """Stores a booking and its event in one transaction."""
    occurred_at = datetime.datetime.now(datetime.timezone.utc).isoformat()
    event = {"event_type": "booking.created", "aggregate_type": "booking", "aggregate_id": booking,
             "payload": {"occurred_at": occurred_at, "guests": guests}}
    with db:
        db.execute("INSERT INTO bookings VALUES (?, ?)", (booking, guests))
        db.execute("INSERT INTO outbox (key, event) VALUES (?, ?)",
                   (f"bookings-{booking}-created", json.dumps(event)))


def send(key, event):
    """Sends an event until a retry cannot help. Returns the status and the text of the response."""
    pause = 1
    while True:
        request = urllib.request.Request(URL, event.encode(), {
            "x-api-key": os.environ["API_KEY"], "Content-Type": "application/json",
            "Idempotency-Key": key})
        retry_after = ""
        try:
            with urllib.request.urlopen(request, timeout=15) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            problem = f"{error.code} {error.read().decode()}"
            if error.headers.get("X-Should-Retry") == "false":
                return error.code, problem
            retry_after = error.headers.get("Retry-After", "")
        except (OSError, http.client.HTTPException) as error:
            problem = error  # no response: the event may be stored or not
        wait = int(retry_after) if retry_after.isdigit() else pause
        print(f"{key}: {problem}, next attempt in {wait} s", file=sys.stderr, flush=True)
        time.sleep(wait)
        pause = min(2 * pause, 30)


if sys.argv[1:]:
    book(sys.argv[1], int(sys.argv[2]))
    sys.exit()
while True:
    oldest = "SELECT seq, key, event FROM outbox WHERE problem IS NULL ORDER BY seq LIMIT 1"
    row = db.execute(oldest).fetchone()
    if row is None:
        time.sleep(1)
        continue
    seq, key, event = row
    status, text = send(key, event)
    if status not in (200, 202, 400, 409, 413):
        sys.exit(f"{key}: {text}")
    with db:
        if status < 300:
            db.execute("DELETE FROM outbox WHERE seq = ?", (seq,))
        else:
            db.execute("UPDATE outbox SET problem = ? WHERE seq = ?", (text, seq))
    print(key, status, flush=True)
