/** The time that calls of the counters take from this isolate: those of one client tell of the next one's. Pure. */

/** The time that a call is taken to last before one has been measured. */
const FIRST_CALL_MS = 10;
/** The weight of the last call in what the next one is expected to take. */
const WEIGHT_OF_LAST = 1 / 4;
const MAX_PAUSE_MS = 50;

export class CallTime {
  #expectedMs = FIRST_CALL_MS;

  /** A call has taken so many milliseconds. */
  learn(milliseconds: number): void {
    this.#expectedMs += (Math.max(0, milliseconds) - this.#expectedMs) * WEIGHT_OF_LAST;
  }

  /**
   * Returns how many milliseconds to pause before looking for the answer of a call that has taken `sinceMs`
   * so far: half the time until it is expected, or half of what it is overdue. At least 1.
   */
  pauseMs(sinceMs: number): number {
    return Math.min(Math.max(1, Math.abs(sinceMs - this.#expectedMs) / 2), MAX_PAUSE_MS);
  }
}
