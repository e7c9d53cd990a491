// The outbox of a booking system: `dotnet run bk_7 4` stores a booking, `dotnet run` sends the outbox.
// It needs .NET 8 and the package Microsoft.Data.Sqlite.

using System.Security.Cryptography;
using System.Text;
using System.Text.Json;
using Microsoft.Data.Sqlite;

static string Env(string name, string otherwise) =>
    Environment.GetEnvironmentVariable(name) is { Length: > 0 } value ? value : otherwise;

var address = Env("API_URL", "http://localhost:3001") + "/api/public/events/ingest";
var apiKey = Env("API_KEY", "");
using var client = new HttpClient(new SocketsHttpHandler { AllowAutoRedirect = false })
{
    Timeout = TimeSpan.FromSeconds(15),
};
using var db = new SqliteConnection("Data Source=bookings.sqlite");
db.Open();
Run(null, "CREATE TABLE IF NOT EXISTS bookings (id TEXT PRIMARY KEY, guests INTEGER NOT NULL)");
Run(null, """
    CREATE TABLE IF NOT EXISTS outbox (
        seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, event TEXT NOT NULL, problem TEXT)
    """);

if (args.Length == 2)
{
    Book(args[0], int.Parse(args[1]));
    return 0;
}
if (apiKey == "") return Stop("Set API_KEY to a key of the service.");

for (;;)
{
    if (Oldest() is not var (seq, key, ev))
    {
        await Task.Delay(1_000);
        continue;
    }
    var (status, text, isForeign) = await Send(key, ev);
    if (isForeign) return Stop($"{key}: not a response of the service: {status}{text}");
    if (status < 300) Run(null, "DELETE FROM outbox WHERE seq = $1", seq);
    else if (status is 400 or 409 or 413) Run(null, "UPDATE outbox SET problem = $1 WHERE seq = $2", text, seq);
    else return Stop($"{key}: {status} {text}");
    Console.WriteLine($"{key} {status}");
}

// Stores a booking and its event in one transaction.
void Book(string booking, int guests)
{
    var payload = new { occurred_at = DateTimeOffset.UtcNow.ToString("O"), guests };
    var body = new { event_type = "booking.created", aggregate_type = "booking", aggregate_id = booking, payload };
    using var transaction = db.BeginTransaction();
    Run(transaction, "INSERT INTO bookings VALUES ($1, $2)", booking, guests);
    var key = $"bookings-{booking}-created";
    Run(transaction, "INSERT INTO outbox (key, event) VALUES ($1, $2)", key, JsonSerializer.Serialize(body));
    transaction.Commit();
}

(long Seq, string Key, string Event)? Oldest()
{
    using var command = db.CreateCommand();
    command.CommandText = "SELECT seq, key, event FROM outbox WHERE problem IS NULL ORDER BY seq LIMIT 1";
    using var row = command.ExecuteReader();
    return row.Read() ? (row.GetInt64(0), row.GetString(1), row.GetString(2)) : null;
}

// Sends an event until a retry cannot help.
async Task<(int Status, string Text, bool IsForeign)> Send(string key, string ev)
{
    for (var pause = 1;; pause = Math.Min(2 * pause, 30))
    {
        var wait = TimeSpan.FromSeconds(pause);
        string problem;
        try
        {
            using var request = new HttpRequestMessage(HttpMethod.Post, address);
            request.Headers.Add("x-api-key", apiKey);
            request.Headers.Add("Idempotency-Key", key);
            request.Headers.Add("User-Agent", "bookings-outbox/1.1");
            request.Content = new StringContent(ev, Encoding.UTF8, "application/json");
            using var response = await client.SendAsync(request);
            var text = await response.Content.ReadAsStringAsync();
            var status = (int)response.StatusCode;
            var shouldRetry = HeaderOf(response, "X-Should-Retry");
            var isAccepted = response.IsSuccessStatusCode && IsEvent(text, key);
            if (shouldRetry == "false" || isAccepted) return (status, text, false);
            if (shouldRetry != "true" && status < 500 && status is not (408 or 429))
            {
                var mitigated = HeaderOf(response, "cf-mitigated");
                var reason = mitigated is null ? "" : $" (cf-mitigated: {mitigated})";
                return (status, $"{reason} {text.Trim().Split('\n')[0]}", true);
            }
            wait = response.Headers.RetryAfter?.Delta ?? wait;
            problem = $"{status} {text}";
        }
        catch (Exception error) when (error is HttpRequestException or TaskCanceledException)
        {
            problem = error.Message; // the event may be stored or not
        }
        Console.Error.WriteLine($"{key}: {problem}, next attempt in {wait.TotalSeconds} s");
        await Task.Delay(wait);
    }
}

static string? HeaderOf(HttpResponseMessage response, string name) =>
    response.Headers.TryGetValues(name, out var values) ? string.Join(", ", values) : null;

// A login page may respond with 200 too. Only the event itself shows that it is stored.
static bool IsEvent(string text, string key)
{
    try
    {
        using var body = JsonDocument.Parse(text);
        return body.RootElement.ValueKind == JsonValueKind.Object
            && body.RootElement.TryGetProperty("object", out var kind) && kind.ToString() == "event"
            && body.RootElement.TryGetProperty("id", out var id) && id.ToString() == IdOf(key);
    }
    catch (JsonException)
    {
        return false;
    }
}

// The version 5 UUID of the key.
static string IdOf(string key)
{
    var name = Convert.FromHexString("3c0f4e0e7b524d0c9a561f2be2d7c9a4").Concat(Encoding.UTF8.GetBytes(key));
    var hash = SHA1.HashData(name.ToArray());
    hash[6] = (byte)(hash[6] & 0x0f | 0x50);
    hash[8] = (byte)(hash[8] & 0x3f | 0x80);
    return new Guid(hash.AsSpan(0, 16), bigEndian: true).ToString();
}

void Run(SqliteTransaction? transaction, string sql, params object[] values)
{
    using var command = db.CreateCommand();
    command.Transaction = transaction;
    command.CommandText = sql;
    for (var index = 0; index < values.Length; index++)
        command.Parameters.AddWithValue($"${index + 1}", values[index]);
    command.ExecuteNonQuery();
}

static int Stop(string reason)
{
    Console.Error.WriteLine(reason);
    return 1;
}
