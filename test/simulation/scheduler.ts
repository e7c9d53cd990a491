/**
 * Virtual time. Each call or timer that the service waits for is an event here. Events happen one after the other, and
 * all work that one event starts ends before the next event.
 */

/** Milliseconds since the epoch at which every run begins. */
export const START = Date.parse('2027-01-15T09:30:00.000Z');

/** Far above the events of any run that ends. */
const MAX_EVENTS = 1_000_000;

/** Does things for as long as it is alive: an isolate, or the world. */
export type Owner = { isAlive: boolean };

type Event = { at: number; order: number; owner: Owner; happen: () => void; isTimer: boolean };

export class Scheduler {
  /** The true time, in milliseconds since the epoch. */
  now = START;
  /** Events that have happened. */
  count = 0;
  /** A digest of the order in which events have happened: runs that interleave alike have the same. */
  trace = 0;
  readonly #events: Event[] = [];
  #orders = 0;
  #readings = 0;

  /** Makes something happen in `delay` milliseconds, a whole number of them, if its owner is alive by then. */
  schedule(delay: number, owner: Owner, happen: () => void, isTimer = false): Event {
    const at = this.now + Math.ceil(Math.max(0, delay));
    const event = { at, order: this.#orders, owner, happen, isTimer };
    this.#orders += 1;
    // The latest comes first, so that the next to happen is at the end.
    let low = 0;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#events[middle];
      if (other !== undefined && isBefore(event, other)) low = middle + 1;
      else high = middle;
    }
    this.#events.splice(low, 0, event);
    return event;
  }

  /** Takes an event back. */
  cancel(event: Event | undefined): void {
    const index = event === undefined ? -1 : this.#events.indexOf(event);
    if (index >= 0) this.#events.splice(index, 1);
  }

  /** Reads the bytes of a body, for which time stands still: Node reads some of them on other threads. */
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
      this.count += 1;
      if (this.count > MAX_EVENTS) throw new Error('the run does not come to an end');
      this.trace = (Math.imul(this.trace, 31) + event.order) | 0;
      event.happen();
      // Timers of one millisecond follow each other without a pause: waiting requests set thousands.
      const next = this.#events.at(-1);
      if (event.isTimer && next?.isTimer && next.at === event.at) await undefined;
      else await this.#rest();
    }
    this.now = Math.max(this.now, end);
  }

  /** Waits until all promises that can go on have gone on. */
  async #rest(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve));
    while (this.#readings > 0);
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
