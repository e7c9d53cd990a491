<?php
// `php outbox.php bk_7 4` stores a booking for four guests. `php outbox.php` sends the outbox.
// It needs PHP 8.1 with pdo_sqlite and curl.

const NAMESPACE_HEX = '3c0f4e0e7b524d0c9a561f2be2d7c9a4';

// SQLITE_BUSY, SQLITE_LOCKED and SQLITE_PROTOCOL mean that another program has locked the database.
const LOCKED_CODES = [5, 6, 15];

$db = new PDO('sqlite:bookings.sqlite', options: [
    PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION, PDO::ATTR_TIMEOUT => 5]);
whenUnlocked(fn() => $db->exec('
    CREATE TABLE IF NOT EXISTS bookings (id TEXT PRIMARY KEY, guests INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS outbox (
        seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
        event TEXT NOT NULL CHECK (json_valid(event)), problem TEXT)'));
// The oldest row that can be sent. A rejected row holds back the later rows of its booking.
const OLDEST = <<<'SQL'
    SELECT seq, key, event FROM outbox AS waiting WHERE problem IS NULL AND NOT EXISTS (
        SELECT 1 FROM outbox AS aside WHERE aside.problem IS NOT NULL AND aside.seq < waiting.seq
            AND json_extract(aside.event, '$.aggregate_type', '$.aggregate_id')
                = json_extract(waiting.event, '$.aggregate_type', '$.aggregate_id'))
    ORDER BY seq LIMIT 1
    SQL;

/** Runs a statement. Retries while another program locks the database. */
function whenUnlocked(callable $run): mixed
{
    for (;;) {
        try {
            return $run();
        } catch (PDOException $error) {
            if (!in_array($error->errorInfo[1] ?? 0, LOCKED_CODES)) throw $error;
            fwrite(STDERR, "bookings.sqlite: {$error->getMessage()}, next attempt in 1 s\n");
            sleep(1);
        }
    }
}

/** Stores a booking and its event in one transaction. */
function book(PDO $db, string $booking, int $guests): void
{
    // An empty payload must be `new stdClass()`, because PHP encodes an empty array as [].
    $payload = ['occurred_at' => gmdate('Y-m-d\TH:i:s\Z'), 'guests' => $guests];
    $event = ['event_type' => 'booking.created', 'aggregate_type' => 'booking',
        'aggregate_id' => $booking, 'payload' => $payload];
    // HTTP clients agree only on ASCII headers, and RFC 3986 encoding is the same in every language.
    $key = 'bookings-' . rawurlencode($booking) . '-created';
    $db->beginTransaction();
    $db->prepare('INSERT INTO bookings VALUES (?, ?)')->execute([$booking, $guests]);
    $db->prepare('INSERT INTO outbox (key, event) VALUES (?, ?)')
        ->execute([$key, json_encode($event, JSON_THROW_ON_ERROR)]);
    $db->commit();
}

/** Returns the id of the event with an idempotency key. The id is a version 5 UUID of the key. */
function makeEventId(string $key): string
{
    $hash = substr(sha1(hex2bin(NAMESPACE_HEX) . $key), 0, 32);
    $hash[12] = '5';
    $hash[16] = dechex(hexdec($hash[16]) & 0x3 | 0x8);
    return preg_replace('/^(.{8})(.{4})(.{4})(.{4})/', '$1-$2-$3-$4-', $hash);
}

/** Whether a response is the stored event. A login page can also have the status 200. */
function isEvent(string $text, string $key): bool
{
    $body = json_decode($text, true);
    return is_array($body) && ($body['object'] ?? '') === 'event' && ($body['id'] ?? '') === makeEventId($key);
}

/**
 * Returns the status, the headers with lower-case names, and the text of a response. The status is
 * 0 if the response is missing or incomplete: a connection that ends early can leave half a JSON
 * document, or no header with the length of the body.
 */
function attempt(string $path, array $options = []): array
{
    $headers = [];
    $curl = curl_init((getenv('API_URL') ?: 'http://localhost:3001') . $path);
    curl_setopt_array($curl, $options + [
        CURLOPT_RETURNTRANSFER => true, CURLOPT_TIMEOUT_MS => 15_000,
        CURLOPT_USERAGENT => 'bookings-outbox/1.1',
        CURLOPT_HEADERFUNCTION => function ($curl, string $line) use (&$headers): int {
            [$name, $value] = explode(':', $line, 2) + [1 => ''];
            $headers[strtolower($name)] = trim($value);
            return strlen($line);
        },
    ]);
    $text = curl_exec($curl);
    if ($text === false) return [0, [], curl_error($curl)];
    $status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
    $isJson = str_contains($headers['content-type'] ?? '', 'json');
    $hasEnd = isset($headers['content-length']) || isset($headers['transfer-encoding']);
    if (($isJson || !$hasEnd) && intdiv($status, 100) !== 3 && json_decode($text) === null) {
        return [0, [], "half a response: $status"];
    }
    return [$status, $headers, $text];
}

/** Whether the service responds to a request without an event, which a firewall should let pass. */
function isServed(): bool
{
    [$status, , $text] = attempt('/api/health');
    return $status === 200 && (json_decode($text, true)['object'] ?? '') === 'health';
}

/**
 * Sends an event. Retries as long as a retry can help. Returns the status and the text of the
 * response.
 */
function send(string $key, string $event): array
{
    $options = [CURLOPT_POSTFIELDS => $event, CURLOPT_HTTPHEADER => [
        'x-api-key: ' . getenv('API_KEY'), 'Content-Type: application/json', "Idempotency-Key: $key"]];
    $isAgain = false;
    for ($pause = 1;; $pause = min(2 * $pause, 30)) {
        [$status, $headers, $text] = attempt('/api/public/events/ingest', $options);
        $shouldRetry = $headers['x-should-retry'] ?? ($status === 0 ? 'true' : '');
        $isAccepted = $status >= 200 && $status < 300 && isEvent($text, $key);
        $isRejected = $shouldRetry === 'false' && in_array($status, [400, 409, 413]);
        if ($isAccepted || $isRejected) return [$status, $text];
        if ($shouldRetry === 'false') stop("$key: $status $text");
        if ($shouldRetry !== 'true' && $status < 500 && !in_array($status, [408, 429])) {
            $reason = "not a response of the service: $status";
            foreach (['cf-ray', 'cf-mitigated'] as $name) {
                if (isset($headers[$name])) $reason .= " ($name: {$headers[$name]})";
            }
            $reason .= ' ' . substr(explode("\n", trim($text))[0], 0, 200);
            // If a firewall rejects the event twice but lets another request pass, it rejects the event's text.
            if ($status < 400 || !isServed()) stop("$key: $reason");
            if ($isAgain) return [$status, $reason];
            $isAgain = true;
            continue;
        }
        $asked = $headers['retry-after'] ?? '';
        $wait = ctype_digit($asked) ? max(1, min((int) substr($asked, 0, 9), 3600)) : $pause;
        fwrite(STDERR, "$key: $status $text, next attempt in $wait s\n");
        sleep($wait);
    }
}

function stop(string $reason): never
{
    fwrite(STDERR, "$reason\n");
    exit(1);
}

if (isset($argv[2])) {
    book($db, $argv[1], (int) $argv[2]);
    exit;
}
if (!getenv('API_KEY')) stop('Set API_KEY to a key of the service.');
for (;;) {
    $row = whenUnlocked(fn() => $db->query(OLDEST)->fetch(PDO::FETCH_ASSOC));
    if ($row === false) {
        sleep(1);
        continue;
    }
    [$status, $text] = send($row['key'], $row['event']);
    whenUnlocked(fn() => $status < 300
        ? $db->prepare('DELETE FROM outbox WHERE seq = ?')->execute([$row['seq']])
        : $db->prepare('UPDATE outbox SET problem = ? WHERE seq = ?')->execute([$text, $row['seq']]));
    echo "{$row['key']} $status\n";
}
