/**
 * The versions of the catalogue. An import that changes a response of the feed raises the number in
 * its transaction. A *check* is the last time that a read found a version in D1. These are the checks
 * that an isolate shares when it has seen an import:
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
export type CatalogueVersion = { id: string; generation: string; number: number };

/** `at` is the start of the last read that found the version, in milliseconds since the epoch. */
export type Check = { version: CatalogueVersion; at: number };

/** How fresh the responses of a version are. */
export type Freshness = {
  /** The time since the check of the version. */
  ageMs: number;
  /** The time since they became stale: negative before, undefined if they have expired. */
  staleMs: number | undefined;
};

/** The versions that an isolate knows, for all its requests. */
export class CatalogueVersions {
  current: CatalogueVersion | undefined;
  /** By the id of the version, in the order in which isolates share them. */
  checks: ReadonlyMap<string, Check> = new Map();
  /** The current check is due if it has less time left: a request renews it. */
  readonly renewalMs: number;
  /** How long a check keeps the current version current, and a response of its version usable. */
  readonly #currentMs: number;
  readonly #usableMs: number;

  constructor(currentMs: number, usableMs: number) {
    this.renewalMs = currentMs / 4;
    this.#currentMs = currentMs;
    this.#usableMs = usableMs;
  }

  judge({ id }: CatalogueVersion): Freshness {
    const ageMs = ageOf(this.checks.get(id));
    const staleMs = ageMs - this.#currentMs;
    if (id === this.current?.id && staleMs < 0) return { ageMs, staleMs };
    const isExpired = ageMs > this.#usableMs || this.#usableMs === 0;
    return { ageMs, staleMs: isExpired ? undefined : Math.max(0, staleMs) };
  }

  /** Whether a version was found later than another one. The current version is the latest. */
  isLater({ id }: CatalogueVersion, other: CatalogueVersion): boolean {
    const current = this.current?.id;
    if (other.id === current) return false;
    return id === current || ageOf(this.checks.get(id)) < ageOf(this.checks.get(other.id));
  }

  /**
   * Learns that D1 had a version. Returns false for a version that is neither the current one nor
   * newer, unless `isDecided`: a replica lags, or the database was rewound. The primary decides.
   */
  note(version: CatalogueVersion, at: number, isDecided: boolean): boolean {
    if (version.id !== this.current?.id && !isDecided && !this.#isNewer(version)) return false;
    this.current = version;
    this.#add([{ version, at }]);
    return true;
  }

  /** Adds the checks of another isolate, and follows it to a newer version. */
  learn(shared: readonly Check[]): void {
    const [theirs] = shared;
    if (theirs === undefined) return;
    // An old check may be of a version that a rewind undid: it does not replace a recent one.
    const own = this.current && this.checks.get(this.current.id);
    const mayReplace = ageOf(theirs) < this.#currentMs || ageOf(own) >= this.#currentMs;
    if (mayReplace && this.#isNewer(theirs.version)) this.current = theirs.version;
    this.#add(shared);
  }

  /** Keeps the latest check of each version: that of the current one, then the latest others. */
  #add(found: readonly Check[]): void {
    const isOther = ({ version }: Check) => Number(version.id !== this.current?.id);
    const checks = [...found, ...this.checks.values()].sort(
      (a, b) => isOther(a) - isOther(b) || ageOf(a) - ageOf(b),
    );
    const kept = new Map<string, Check>();
    for (const check of checks) {
      const { id } = check.version;
      if (!kept.has(id) && kept.size < MAX_CHECKS) kept.set(id, check);
    }
    this.checks = kept;
  }

  /** Whether a version is of the current generation, and newer than all known ones of it. */
  #isNewer({ generation, number }: CatalogueVersion): boolean {
    if (this.current !== undefined && this.current.generation !== generation) return false;
    return [...this.checks.values()].every(
      ({ version }) => version.generation !== generation || version.number < number,
    );
  }
}

/** Endless without a check. A time in the future is from a clock that was set back since. */
function ageOf(check: Check | undefined): number {
  const ageMs = check === undefined ? Number.POSITIVE_INFINITY : Date.now() - check.at;
  return ageMs < -MAX_CLOCK_SKEW_MS ? Number.POSITIVE_INFINITY : Math.max(0, ageMs);
}
