/** A fake clock for commands. Sleeping advances the clock without waiting. */
export class FakeClock {
  sleptMs = 0;
  readonly #startedAt: number;

  constructor(startedAt = 0) {
    this.#startedAt = startedAt;
  }

  readonly now = (): number => this.#startedAt + this.sleptMs;

  readonly sleep = async (ms: number): Promise<void> => {
    this.sleptMs += ms;
  };
}
