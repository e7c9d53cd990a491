/**
 * Simulates time. Each call or timer that the service waits for is an event. Events happen one at a
 * time, and all work that an event starts ends before the next event.
 */

/** The start of every run, in milliseconds since the epoch. */
export const START = Date.parse('2027-01-15T09:30:00.000Z');

/** The instance that waits for an event. The event is skipped if the instance has been killed. */
export type Owner = { isAlive: boolean };

export type Event = { at: number; owner: Owner; happen: () => void };

export class Scheduler {
  /** The true time, in milliseconds since the epoch. */
  now = START;
  /**
   * Milliseconds by which all clocks are ahead of the true time, in addition to their individual
   * offsets.
   */
  clockError = 0;
  /** Sorted with the latest event first, so that the next event can be popped. */
  readonly #events: Event[] = [];
  #readings = 0;

  /** Schedules an event after `delay` milliseconds, rounded up. */
  schedule(delay: number, happen: () => void, owner: Owner = { isAlive: true }): Event {
    const at = this.now + Math.ceil(Math.max(0, delay));
    const event = { at, owner, happen };
    this.#events.splice(this.#findIndex(at), 0, event);
    return event;
  }

  /** Returns the index after all events that are later than the given time. */
  #findIndex(at: number): number {
    let [low, high] = [0, this.#events.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#events[middle]?.at ?? 0) > at) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Stops the clock while a body is read, because Node reads parts of it on other threads. */
  async read<T>(work: Promise<T>): Promise<T> {
    this.#readings += 1;
    try {
      return await work;
    } finally {
      this.#readings -= 1;
    }
  }

  /** Runs all events up to and including the given time. */
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

  /** Waits until every promise has settled or depends on a later event. */
  async #settle(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve));
    while (this.#readings > 0);
  }
}
