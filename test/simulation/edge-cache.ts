/** The Cache API of one data centre. It keeps a response for its `max-age`, and forgets some. */

import { countFault } from './calls.ts';

type Kept = { headers: [string, string][]; bytes: ArrayBuffer; until: number };

export class EdgeCache {
  readonly #kept = new Map<string, Kept>();

  match(url: string, now: number): Response | undefined {
    const kept = this.#kept.get(url);
    if (kept === undefined || kept.until <= now) return undefined;
    return new Response(kept.bytes.slice(0), { headers: kept.headers });
  }

  put(url: string, headers: Headers, bytes: ArrayBuffer, now: number, isForgotten: boolean): void {
    if (isForgotten) {
      countFault('edge cache: answer forgotten');
      return;
    }
    const seconds = Number(/max-age=(\d+)/.exec(headers.get('Cache-Control') ?? '')?.[1]);
    this.#kept.set(url, { headers: [...headers], bytes, until: now + seconds * 1_000 });
  }

  delete(url: string): boolean {
    return this.#kept.delete(url);
  }
}
