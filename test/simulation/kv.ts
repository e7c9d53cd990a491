const CACHED_MS = 60_000;

type Entry = { value: string | null; until: number };

/**
 * A simulated KV namespace. The last write wins.
 *
 * After a read, a data centre caches the value, or its absence, for a minute. During this minute it
 * does not see the writes of other data centres.
 */
export class Kv {
  readonly #entries = new Map<string, Entry>();
  /** Maps a data centre and a key to the cached value. */
  readonly #cached = new Map<string, Entry>();

  get(place: string, key: string, now: number): string | null {
    const cached = this.#cached.get(`${place} ${key}`);
    if (cached !== undefined && cached.until > now) return cached.value;
    const entry = this.#entries.get(key);
    const value = entry !== undefined && entry.until > now ? entry.value : null;
    this.#cached.set(`${place} ${key}`, { value, until: now + CACHED_MS });
    return value;
  }

  put(place: string, key: string, value: string, until: number): void {
    this.#entries.set(key, { value, until });
    this.#cached.delete(`${place} ${key}`);
  }
}
