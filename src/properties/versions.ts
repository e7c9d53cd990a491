/**
 * The versions of the catalogue. An import that changes a response of the feed raises the number in
 * its transaction. A *check* is the last time that a read found a version in D1. These are the checks
 * of an isolate that has seen an import:
 *
 *     [{ version: { id: '9b83… 13 4f0a…', generation: '9b83…', number: 13 }, at: 1800000090000 },
 *      { version: { id: '9b83… 12 7c1d…', generation: '9b83…', number: 12 }, at: 1800000045000 }]
 *
 * The first version is the current one. After a rewind (Time Travel), two imports may have raised the
 * number to the same one, until `after-time-travel` begins a new generation.
 */

/** The clocks of two machines differ by less. */
const MAX_CLOCK_SKEW_MS = 5_000;
const MAX_CHECKS = 64;

/** The id has the generation of the database, the number, and the id of the import that raised it. */
export type Version = { id: string; generation: string; number: number };

/** `at` is the start of the last read that found the version, in milliseconds since the epoch. */
export type Check = { version: Version; at: number };

/** How fresh the responses of a version are. */
export type Freshness = {
  /** The time until they are stale. Negative if they are, and minus infinity if they have expired. */
  ttlMs: number;
  /** The time since the check of the version. */
  ageMs: number;
  /** 0 for the current version, and more for earlier ones. */
  rank: number;
};

/** For all requests of an isolate. */
export class KnownVersions {
  /** The current version, then the others by their checks, the latest first. */
  checks: readonly Check[] = [];
  /** The current check is due if it has less time left: a request renews it. */
  readonly renewalMs: number;
  /** How long a check keeps the current version current, and a response of its version usable. */
  readonly #currentMs: number;
  readonly #staleMs: number;

  constructor(currentMs: number, staleMs: number) {
    this.renewalMs = currentMs / 4;
    this.#currentMs = currentMs;
    this.#staleMs = staleMs;
  }

  judge({ id }: Version): Freshness {
    let rank = 0;
    while (rank < this.checks.length && this.checks[rank]?.version.id !== id) rank += 1;
    const ageMs = ageOf(this.checks[rank]);
    const ttlMs = this.#currentMs - ageMs;
    if (rank === 0 && ttlMs > 0) return { ttlMs, ageMs, rank };
    const isExpired = ageMs > this.#staleMs || this.#staleMs === 0;
    return { ttlMs: isExpired ? Number.NEGATIVE_INFINITY : Math.min(-1, ttlMs), ageMs, rank };
  }

  /**
   * Learns that D1 had a version. Returns false for a version that is neither the current one nor
   * newer, unless `isDecided`: a replica lags, or the database was rewound. The primary decides.
   */
  note(version: Version, at: number, isDecided: boolean): boolean {
    const isKnown = version.id === this.checks[0]?.version.id;
    if (!isKnown && !isDecided && !this.#isNewer(version)) return false;
    this.#add([{ version, at }], version);
    return true;
  }

  /** Adds the checks of another isolate, and follows it to a newer version. */
  learn(shared: readonly Check[]): void {
    const [own] = this.checks;
    const [theirs] = shared;
    if (theirs === undefined) return;
    // An old check may be of a version that a rewind undid: it does not replace a recent one.
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
