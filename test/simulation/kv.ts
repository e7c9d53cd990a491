/**
 * KV: the last write wins. Each place keeps a value that it has read, or a miss, for a minute. It sees the writes of
 * other places only when that minute is over. Some writes are lost.
 */

import { countFault } from './calls.ts';

const REMEMBERED_MS = 60_000;

type Entry = { value: string | null; until: number };

export class Kv {
  readonly #entries = new Map<string, Entry>();
  /** Place and key → the value that the place has read. */
  readonly #remembered = new Map<string, Entry>();

  get(place: string, key: string, now: number): string | null {
    const remembered = this.#remembered.get(`${place} ${key}`);
    if (remembered !== undefined && remembered.until > now) {
      const { value } = this.#entries.get(key) ?? { value: null };
      if (value !== remembered.value)
        countFault(`KV: stale ${remembered.value ? 'entry' : 'miss'}`);
      return remembered.value;
    }
    const entry = this.#entries.get(key);
    const value = entry !== undefined && entry.until > now ? entry.value : null;
    this.#remembered.set(`${place} ${key}`, { value, until: now + REMEMBERED_MS });
    return value;
  }

  put(place: string, key: string, value: string, now: number, seconds: number, isLost: boolean) {
    if (isLost) {
      countFault('KV: write lost');
      return;
    }
    this.#entries.set(key, { value, until: now + seconds * 1_000 });
    this.#remembered.delete(`${place} ${key}`);
  }
}
