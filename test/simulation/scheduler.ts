/**
 * Virtual time. Each call or timer that the service waits for is an event here. Events happen one
 * after the other, and all work that one event starts ends before the next event.
 */

/** Milliseconds since the epoch at which every run begins. */
export const START = Date.parse('2027-01-15T09:30:00.000Z');

/** Events of an owner that is dead do not happen. */
export type Owner = { isAlive: boolean };

export type Event = { at: number; owner: Owner; happen: () => void };

export class Scheduler {
  /** The true time, in milliseconds since the epoch. */
  now = START;
  /** All clocks are ahead of the true time by these milliseconds, and some more of their own. */
  clockError = 0;
  /** The next event is the last one. */
  readonly #events: Event[] = [];
  #readings = 0;

  /** Makes something happen in `delay` milliseconds, a whole number of them. */
  schedule(delay: number, happen: () => void, owner: Owner = { isAlive: true }): Event {
    const at = this.now + Math.ceil(Math.max(0, delay));
    const event = { at, owner, happen };
    this.#events.splice(this.#events.findLastIndex((other) => other.at > at) + 1, 0, event);
    return event;
  }

  /**
   * Reads the bytes of a body, for which time stands still: Node reads some of them on other
   * threads.
   */
  async reading<T>(work: Promise<T>): Promise<T> {
    this.#readings += 1;
    try {
      return await work;
    } finally {
      this.#readings -= 1;
    }
  }

  /** Lets everything happen up to a time. */
  async runUntil(end: number): Promise<void> {
    await this.#rest();
    for (let event = this.#events.at(-1); event && event.at <= end; event = this.#events.at(-1)) {
      this.#events.pop();
      if (!event.owner.isAlive) continue;
      this.now = event.at;
      event.happen();
      await this.#rest();
    }
    this.now = Math.max(this.now, end);
  }

  /** Waits until all promises that can go on have gone on. */
  async #rest(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve));
    while (this.#readings > 0);
  }
}
