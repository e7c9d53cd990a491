/**
 * The versions of the catalogue. An import that changes a response of the feed raises the number in
 * its transaction. A *check* is the last time that D1 had a version, e.g. of an isolate that has seen
 * an import:
 *
 *     [{ version: { id: '9b83… 13 4f0a…', generation: '9b83…', number: 13 }, at: 1800000090000 },
 *      { version: { id: '9b83… 12 7c1d…', generation: '9b83…', number: 12 }, at: 1800000045000 }]
 *
 * The first version is the current one. After a rewind (Time Travel), until `after-time-travel`
 * begins a new generation, two imports may have raised the number to the same one.
 */

/** After this part of the time of a check, a request renews it. */
export const RENEWAL_PART = 3 / 4;
/** The clocks of two machines differ by less. */
const MAX_CLOCK_SKEW_MS = 5_000;
const MAX_CHECKS = 64;

/** The id has the generation of the database, the number, and the id of the import that raised it. */
export type Version = { id: string; generation: string; number: number };

/** `at` is the start of the last read that found the version, in milliseconds since the epoch. */
export type Check = { version: Version; at: number };

/** What may be done with a response of a version. */
export type Verdict = {
  /** `due`: current, and the check has to be renewed. `stale`: served while D1 is slow or failed. */
  state: 'current' | 'due' | 'stale' | 'expired';
  /** Until the response is stale; negative afterwards. */
  ttlMs: number;
  /** Of the check. */
  ageMs: number;
  /** 0 for the current version, and more for earlier ones. */
  rank: number;
};

/** For all requests of an isolate. */
export class KnownVersions {
  /** The current version, then the others by their checks, the latest first. Only replaced. */
  checks: readonly Check[] = [];
  /** How long a check keeps the current version current, and a response of its version usable. */
  readonly #currentMs: number;
  readonly #staleMs: number;

  constructor(currentMs: number, staleMs: number) {
    this.#currentMs = currentMs;
    this.#staleMs = staleMs;
  }

  judge({ id }: Version): Verdict {
    let rank = 0;
    while (rank < this.checks.length && this.checks[rank]?.version.id !== id) rank += 1;
    const ageMs = ageOf(this.checks[rank]);
    const ttlMs = this.#currentMs - ageMs;
    if (rank === 0 && ttlMs > 0) {
      const state = ageMs < this.#currentMs * RENEWAL_PART ? 'current' : 'due';
      return { state, ttlMs, ageMs, rank };
    }
    const state = ageMs <= this.#staleMs && this.#staleMs > 0 ? 'stale' : 'expired';
    // Negative also for an earlier version, whose check may be recent.
    return { state, ttlMs: Math.min(-1, ttlMs), ageMs, rank };
  }

  /**
   * Reads D1, and learns the version. A replica may lag: a read that finds neither the current
   * version nor a newer one is repeated at the primary, which decides. Throws D1's error.
   */
  async read<Result extends { version: Version }>(
    database: D1Database,
    query: (session: D1DatabaseSession) => Promise<Result>,
    constraint: D1SessionConstraint = 'first-unconstrained',
  ): Promise<Result> {
    const before = this.checks[0]?.version.id;
    const at = Date.now();
    const result = await query(database.withSession(constraint));
    const { version } = result;
    const current = this.checks[0]?.version.id;
    // The primary does not decide if another read changed the current version meanwhile.
    const isDecided = constraint === 'first-primary' && current === before;
    if (version.id !== current && !this.#isNewer(version) && !isDecided) {
      return this.read(database, query, 'first-primary');
    }
    this.#add([{ version, at }], version);
    return result;
  }

  /** Adds the checks of another isolate, and follows it to a newer version. */
  learn(shared: readonly Check[]): void {
    const [own] = this.checks;
    const [theirs] = shared;
    if (theirs === undefined) return;
    // A check that has ended may be of a version that a rewind undid: it replaces no recent one.
    const mayReplace = ageOf(theirs) < this.#currentMs || ageOf(own) >= this.#currentMs;
    const isReplaced = mayReplace && this.#isNewer(theirs.version);
    this.#add(shared, isReplaced || own === undefined ? theirs.version : own.version);
  }

  /** Keeps the latest check of each version. */
  #add(found: readonly Check[], current: Version): void {
    const checks: Check[] = [];
    const ids = new Set<string>();
    for (const check of [...found, ...this.checks].sort((a, b) => ageOf(a) - ageOf(b))) {
      const { id } = check.version;
      if (id === current.id && !ids.has(id)) checks.unshift(check);
      else if (ageOf(check) <= this.#staleMs && !ids.has(id)) checks.push(check);
      ids.add(id);
    }
    this.checks = checks.slice(0, MAX_CHECKS);
  }

  /** Whether a version is of the current generation, and newer than all known ones of it. */
  #isNewer({ generation, number }: Version): boolean {
    return this.checks.every(({ version }, rank) =>
      version.generation === generation ? version.number < number : rank > 0,
    );
  }
}

/** Endless without a check. A time in the future is from a clock that was set back since. */
function ageOf(check: Check | undefined): number {
  const ageMs = check === undefined ? Number.POSITIVE_INFINITY : Date.now() - check.at;
  return ageMs < -MAX_CLOCK_SKEW_MS ? Number.POSITIVE_INFINITY : Math.max(0, ageMs);
}
