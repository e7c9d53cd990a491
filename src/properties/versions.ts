/**
 * Tracks the versions of the catalogue, which determine how fresh a cached response is. Each import
 * that changes a response of the feed increments the version number. A *confirmation* is the time of
 * the last read that found a version in D1. After an import, for example, an isolate shares these
 * confirmations:
 *
 *     [{ version: { id: '9b83… 13 4f0a…', generation: '9b83…', number: 13 }, at: 1800000090000 },
 *      { version: { id: '9b83… 12 7c1d…', generation: '9b83…', number: 12 }, at: 1800000045000 }]
 *
 * The current version comes first. After a rewind (Time Travel), a later import may reuse a number,
 * until `after-time-travel` begins a new generation.
 */

/** Maximum difference between the clocks of two machines. */
const MAX_CLOCK_SKEW_MS = 5_000;
const MAX_CONFIRMATIONS = 64;

/**
 * A version of the catalogue. `id` consists of `generation`, `number`, and the id of the import that
 * assigned the number.
 */
export type CatalogueVersion = { id: string; generation: string; number: number };

/** The last read that found a version in D1. `at` is its start, in milliseconds since the epoch. */
export type Confirmation = { version: CatalogueVersion; at: number };

/**
 * The freshness of a cached response, in the terms of RFC 9111:
 *
 *     version                        its last confirmation   freshness (defaults)
 *     current                        59 s ago                fresh
 *     current                        60 s ago                stale for 0 s
 *     current                        90 s ago                stale for 30 s
 *     replaced by an import          10 s ago                stale for 0 s
 *     any                            over 1 h ago            expired
 */
export type Freshness =
  | {
      kind: 'fresh';
      ttlMs: number;
      /** Whether a request should revalidate the version, because its confirmation is old. */
      isDue: boolean;
    }
  | {
      kind: 'stale';
      staleMs: number;
      /** Age of the version's confirmation. */
      ageMs: number;
    }
  | { kind: 'expired' };

/** The versions that one isolate has seen. */
export class CatalogueVersions {
  current: CatalogueVersion | undefined;
  /** Confirmations by version id, in the order in which isolates share them. */
  confirmations: ReadonlyMap<string, Confirmation> = new Map();
  /** Remaining freshness, in milliseconds, at which a request revalidates the current version. */
  readonly revalidationMs: number;
  readonly #freshnessLifetimeMs: number;
  readonly #retentionMs: number;

  /**
   * Both times begin at a version's last confirmation. The current version is fresh for
   * `freshnessLifetimeMs`. Any version can be served stale for up to `retentionMs`, or never if
   * `retentionMs` is 0.
   */
  constructor(freshnessLifetimeMs: number, retentionMs: number) {
    this.revalidationMs = freshnessLifetimeMs / 4;
    this.#freshnessLifetimeMs = freshnessLifetimeMs;
    this.#retentionMs = retentionMs;
  }

  getFreshness({ id }: CatalogueVersion): Freshness {
    const ageMs = getAgeMs(this.confirmations.get(id));
    const ttlMs = this.#freshnessLifetimeMs - ageMs;
    if (id === this.current?.id && ttlMs > 0) {
      return { kind: 'fresh', ttlMs, isDue: ttlMs <= this.revalidationMs };
    }
    if (ageMs > this.#retentionMs || this.#retentionMs === 0) return { kind: 'expired' };
    return { kind: 'stale', staleMs: Math.max(0, -ttlMs), ageMs };
  }

  /** Whether a version was confirmed after another version. The current version counts as the latest. */
  isLater({ id }: CatalogueVersion, other: CatalogueVersion): boolean {
    const currentId = this.current?.id;
    if (other.id === currentId) return false;
    if (id === currentId) return true;
    return getAgeMs(this.confirmations.get(id)) < getAgeMs(this.confirmations.get(other.id));
  }

  /**
   * Confirms a version that a read of D1 found, and makes it the current version. Returns whether the
   * version was accepted. A version that is neither current nor newer is rejected, because a replica
   * may lag, or the database may have been rewound. With `isDecisive`, which is for a read of the
   * primary, every version is accepted.
   */
  confirm(version: CatalogueVersion, at: number, isDecisive: boolean): boolean {
    if (version.id !== this.current?.id && !isDecisive && !this.#isNewer(version)) return false;
    this.current = version;
    this.#merge([{ version, at }]);
    return true;
  }

  /**
   * Merges the confirmations that another isolate has shared, and switches to its version if that is
   * newer. Ignores a newer version whose confirmation is old while the current version was confirmed
   * recently.
   */
  adopt(shared: readonly Confirmation[]): void {
    const [latest] = shared;
    if (latest === undefined) return;
    // A rewind may have undone the version of an old confirmation, so a recent one stays current.
    const current = this.current && this.confirmations.get(this.current.id);
    const isRecent = getAgeMs(latest) < this.#freshnessLifetimeMs;
    const mayReplace = isRecent || getAgeMs(current) >= this.#freshnessLifetimeMs;
    if (mayReplace && this.#isNewer(latest.version)) this.current = latest.version;
    this.#merge(shared);
  }

  /**
   * Keeps the latest confirmation of each version, and at most `MAX_CONFIRMATIONS` of them. Always
   * keeps the confirmation of the current version.
   */
  #merge(added: readonly Confirmation[]): void {
    const rank = ({ version }: Confirmation) => (version.id === this.current?.id ? 0 : 1);
    const sorted = [...added, ...this.confirmations.values()].sort(
      (a, b) => rank(a) - rank(b) || getAgeMs(a) - getAgeMs(b),
    );
    const latestById = new Map<string, Confirmation>();
    for (const confirmation of sorted) {
      const { id } = confirmation.version;
      if (!latestById.has(id) && latestById.size < MAX_CONFIRMATIONS) {
        latestById.set(id, confirmation);
      }
    }
    this.confirmations = latestById;
  }

  /**
   * Whether a version belongs to the current generation, and is newer than every confirmed version of
   * its generation.
   */
  #isNewer({ generation, number }: CatalogueVersion): boolean {
    if (this.current !== undefined && this.current.generation !== generation) return false;
    return [...this.confirmations.values()].every(
      ({ version }) => version.generation !== generation || version.number < number,
    );
  }
}

/**
 * Returns the age of a confirmation. Returns infinity if there is no confirmation, or if a wrong clock
 * put it in the future.
 */
function getAgeMs(confirmation: Confirmation | undefined): number {
  if (confirmation === undefined) return Number.POSITIVE_INFINITY;
  const ageMs = Date.now() - confirmation.at;
  return ageMs < -MAX_CLOCK_SKEW_MS ? Number.POSITIVE_INFINITY : Math.max(0, ageMs);
}
