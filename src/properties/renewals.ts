/** The answers that this isolate is renewing: one request renews an answer, and the others use it meanwhile. */

/** The time after which another request may try: the first one has failed, or was cut off. */
const RETRY_MS = 6_000;
/** Far more than are renewed at a time. */
const MAX_RENEWALS = 1_000;

/** A bounded memory: the oldest goes first. */
export class Renewals {
  /** Key → the time at which its renewal began, in milliseconds since the epoch. */
  readonly #begun = new Map<string, number>();

  /** Reports whether the caller is to renew the answer. */
  begin(key: string, now: number): boolean {
    const begun = this.#begun.get(key);
    if (begun !== undefined && now - begun < RETRY_MS) return false;
    this.#begun.delete(key);
    this.#begun.set(key, now);
    if (this.#begun.size > MAX_RENEWALS) {
      const [oldest = key] = this.#begun.keys();
      this.#begun.delete(oldest);
    }
    return true;
  }

  /** Notes that an answer has been renewed. */
  end(key: string): void {
    this.#begun.delete(key);
  }
}
