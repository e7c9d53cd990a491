/**
 * Virtual time. Each call or timer that the service waits for is an event. Events happen one after
 * the other. All work that an event starts ends before the next event.
 */

/** Milliseconds since the epoch at which every run begins. */
export const START = Date.parse('2027-01-15T09:30:00.000Z');

/** The instance that waits for an event. The event does not happen after the instance was killed. */
export type Owner = { isAlive: boolean };

export type Event = { at: number; owner: Owner; happen: () => void };

export class Scheduler {
  /** The true time, in milliseconds since the epoch. */
  now = START;
  /** Milliseconds by which all clocks are ahead of the true time, in addition to their own offsets. */
  clockError = 0;
  /** The latest event comes first, so that the next event can be popped. */
  readonly #events: Event[] = [];
  #readings = 0;

  /** Schedules an event in `delay` milliseconds, rounded up. */
  schedule(delay: number, happen: () => void, owner: Owner = { isAlive: true }): Event {
    const at = this.now + Math.ceil(Math.max(0, delay));
    const event = { at, owner, happen };
    this.#events.splice(this.#findIndex(at), 0, event);
    return event;
  }

  /** Returns the index behind all events that are later than a time. */
  #findIndex(at: number): number {
    let [low, high] = [0, this.#events.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#events[middle]?.at ?? 0) > at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Stops the time while a body is read, because Node reads parts of it on other threads. */
  async read<T>(work: Promise<T>): Promise<T> {
    this.#readings += 1;
    try {
      return await work;
    } finally {
      this.#readings -= 1;
    }
  }

  /** Runs all events up to a time. */
  async runUntil(end: number): Promise<void> {
    await this.#settle();
    for (let event = this.#events.at(-1); event && event.at <= end; event = this.#events.at(-1)) {
      this.#events.pop();
      if (!event.owner.isAlive) continue;
      this.now = event.at;
      event.happen();
      await this.#settle();
    }
    this.now = Math.max(this.now, end);
  }

  /** Waits until all promises are settled, or wait for an event. */
  async #settle(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve));
    while (this.#readings > 0);
  }
}
