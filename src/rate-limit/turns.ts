/**
 * Turns for requests that pause. A timer fires when the isolate has nothing else to do. Requests that
 * follow each other without a pause, as those of a loop in the same process do, would keep it busy for
 * ever: after some of them one has to let the timers fire.
 */

const MAX_PASSING = 20;

/** Resolves after so many milliseconds. Nobody gives way to it: it may wait for seconds. */
export async function wait(milliseconds: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** The turns of one isolate. */
export class Turns {
  #pausing = 0;
  #passed = 0;

  /** Resolves after so many milliseconds, in which others give way. */
  async pause(milliseconds: number): Promise<undefined> {
    this.#pausing += 1;
    await wait(milliseconds);
    this.#pausing -= 1;
    this.#passed = 0;
    return undefined;
  }

  /**
   * Notes that a request begins. Returns whether it has to pause first, because many have passed others that
   * pause.
   */
  beginRequest(): boolean {
    if (this.#pausing === 0) return false;
    this.#passed += 1;
    return this.#passed > MAX_PASSING;
  }
}
