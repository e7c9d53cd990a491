import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Set;
import java.util.UUID;

/**
 * The outbox of a booking system: {@code java -cp sqlite-jdbc.jar Outbox.java bk_7 4} stores a booking, and without
 * arguments it sends the outbox. It needs Java 17 and the JDBC driver of the database.
 */
public class Outbox {
    private static final UUID NAMESPACE = UUID.fromString("3c0f4e0e-7b52-4d0c-9a56-1f2be2d7c9a4");
    private static final URI ADDRESS =
        URI.create(env("API_URL", "http://localhost:3001") + "/api/public/events/ingest");
    private static final HttpClient CLIENT =
        HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NEVER).build();

    public static void main(String[] args) throws Exception {
        try (var db = DriverManager.getConnection(env("DATABASE_URL", "jdbc:sqlite:bookings.sqlite"))) {
            db.createStatement().execute(
                "CREATE TABLE IF NOT EXISTS bookings (id TEXT PRIMARY KEY, guests INTEGER NOT NULL)");
            db.createStatement().execute("CREATE TABLE IF NOT EXISTS outbox ("
                + "seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, event TEXT NOT NULL, problem TEXT)");
            if (args.length == 2) {
                book(db, args[0], Integer.parseInt(args[1]));
                return;
            }
            if (env("API_KEY", "").isEmpty()) stop("Set API_KEY to a key of the service.");
            while (true) if (!sendOldest(db)) Thread.sleep(1_000);
        }
    }

    /** Stores a booking and its event in one transaction. */
    private static void book(Connection db, String booking, int guests) throws SQLException {
        // A JSON library writes the event of a real system. Instant.toString() always writes seconds and Z.
        var event = "{\"event_type\":\"booking.created\",\"aggregate_type\":\"booking\",\"aggregate_id\":\"" + booking
            + "\",\"payload\":{\"occurred_at\":\"" + Instant.now() + "\",\"guests\":" + guests + "}}";
        db.setAutoCommit(false);
        update(db, "INSERT INTO bookings VALUES (?, ?)", booking, guests);
        update(db, "INSERT INTO outbox (key, event) VALUES (?, ?)", "bookings-" + booking + "-created", event);
        db.commit();
    }

    /** Sends the oldest event, and returns true if there was one. */
    private static boolean sendOldest(Connection db) throws Exception {
        long seq;
        String key;
        String event;
        var oldest = "SELECT seq, key, event FROM outbox WHERE problem IS NULL ORDER BY seq LIMIT 1";
        try (var statement = db.createStatement(); var row = statement.executeQuery(oldest)) {
            if (!row.next()) return false;
            seq = row.getLong(1);
            key = row.getString(2);
            event = row.getString(3);
        }
        var response = send(key, event);
        int status = response.statusCode();
        if (status < 300) update(db, "DELETE FROM outbox WHERE seq = ?", seq);
        else if (Set.of(400, 409, 413).contains(status))
            update(db, "UPDATE outbox SET problem = ? WHERE seq = ?", response.body(), seq);
        else stop(key + ": " + status + " " + response.body());
        System.out.println(key + " " + status);
        return true;
    }

    /** Sends an event until a retry cannot help. */
    private static HttpResponse<String> send(String key, String event) throws Exception {
        var request = HttpRequest.newBuilder(ADDRESS).timeout(Duration.ofSeconds(15))
            .headers("x-api-key", env("API_KEY", ""), "Content-Type", "application/json",
                "Idempotency-Key", key, "User-Agent", "bookings-outbox/1.1")
            .POST(HttpRequest.BodyPublishers.ofString(event)).build();
        for (int pause = 1;; pause = Math.min(2 * pause, 30)) {
            int wait = pause;
            String problem;
            try {
                var response = CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
                int status = response.statusCode();
                var shouldRetry = response.headers().firstValue("X-Should-Retry").orElse("");
                boolean isAccepted = status >= 200 && status < 300 && isEvent(response.body(), key);
                if (shouldRetry.equals("false") || isAccepted) return response;
                if (!shouldRetry.equals("true") && status < 500 && status != 408 && status != 429)
                    stop(key + ": not a response of the service: " + status
                        + response.headers().firstValue("cf-mitigated").map(" (cf-mitigated: %s)"::formatted).orElse("")
                        + " " + response.body().strip().lines().findFirst().orElse(""));
                var retryAfter = response.headers().firstValue("Retry-After").orElse("");
                if (retryAfter.matches("\\d{1,5}")) wait = Integer.parseInt(retryAfter);
                problem = status + " " + response.body();
            } catch (IOException error) {
                problem = error.toString(); // the event may be stored or not
            }
            System.err.println(key + ": " + problem + ", next attempt in " + wait + " s");
            Thread.sleep(wait * 1_000L);
        }
    }

    /** A login page may respond with 200 too. Only the event itself shows that it is stored. */
    private static boolean isEvent(String body, String key) throws Exception {
        // A JSON library would read the two fields. The service writes them first, without white space.
        return body.startsWith("{\"object\":\"event\",\"id\":\"" + idOf(key) + "\",");
    }

    /** The version 5 UUID of the key. UUID.nameUUIDFromBytes makes version 3. */
    static UUID idOf(String key) throws Exception {
        var sha1 = MessageDigest.getInstance("SHA-1");
        sha1.update(ByteBuffer.allocate(16).putLong(NAMESPACE.getMostSignificantBits())
            .putLong(NAMESPACE.getLeastSignificantBits()).array());
        var hash = ByteBuffer.wrap(sha1.digest(key.getBytes(StandardCharsets.UTF_8)));
        return new UUID(hash.getLong() & ~0xf000L | 0x5000L, hash.getLong() & ~(3L << 62) | 2L << 62);
    }

    private static void update(Connection db, String sql, Object... values) throws SQLException {
        try (var statement = db.prepareStatement(sql)) {
            for (int index = 0; index < values.length; index++) statement.setObject(index + 1, values[index]);
            statement.executeUpdate();
        }
    }

    private static String env(String name, String otherwise) {
        var value = System.getenv(name);
        return value == null || value.isEmpty() ? otherwise : value;
    }

    private static void stop(String reason) {
        System.err.println(reason);
        System.exit(1);
    }
}
