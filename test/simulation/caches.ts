/** What KV and the edge cache keep in each place. */

const REMEMBERED_MS = 60_000;

type Entry = { value: string | null; until: number };

/**
 * KV: the last write wins. Each place keeps a value that it has read, or a miss, for a minute. It
 * sees the writes of other places only when that minute has ended.
 */
export class Kv {
  readonly #entries = new Map<string, Entry>();
  /** Place and key → the value that the place has read. */
  readonly #remembered = new Map<string, Entry>();

  get(place: string, key: string, now: number): string | null {
    const remembered = this.#remembered.get(`${place} ${key}`);
    if (remembered !== undefined && remembered.until > now) return remembered.value;
    const entry = this.#entries.get(key);
    const value = entry !== undefined && entry.until > now ? entry.value : null;
    this.#remembered.set(`${place} ${key}`, { value, until: now + REMEMBERED_MS });
    return value;
  }

  put(place: string, key: string, value: string, until: number): void {
    this.#entries.set(key, { value, until });
    this.#remembered.delete(`${place} ${key}`);
  }
}

/** The Cache API of one data centre. It keeps a response for its `max-age`. */
export class EdgeCache {
  readonly #stored = new Map<string, { headers: Headers; bytes: ArrayBuffer; until: number }>();

  match(url: string, now: number): Response | undefined {
    const stored = this.#stored.get(url);
    if (stored === undefined || stored.until <= now) return undefined;
    return new Response(stored.bytes.slice(0), { headers: stored.headers });
  }

  put(url: string, headers: Headers, bytes: ArrayBuffer, now: number): void {
    const seconds = Number(/max-age=(\d+)/.exec(headers.get('Cache-Control') ?? '')?.[1]);
    this.#stored.set(url, { headers, bytes, until: now + seconds * 1_000 });
  }

  delete(url: string): boolean {
    return this.#stored.delete(url);
  }

  evictAll(): void {
    this.#stored.clear();
  }
}
