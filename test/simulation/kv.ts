/** KV as each place sees it. */

const REMEMBERED_MS = 60_000;

type Entry = { value: string | null; until: number };

/**
 * The last write wins. Each place keeps a value that it has read, or a miss, for a minute. It
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
