/**
 * Plans that press the caches of the feed, and its promises (docs/reference/property-feed.md): the
 * age of a response, the older response that is served while D1 fails or stalls, and the content of
 * a fresh response.
 */

import { rowOf } from '../../tools/import/plan/rows.ts';
import { PUBLIC_SITE_URL, sourceOf } from '../support/listings.ts';
import { Random } from './random.ts';
import { START } from './scheduler.ts';
import { machinesOf, type Operation, type Plan, type Violation } from './simulation.ts';
import { type Exchange, timeOf, type World } from './world.ts';

const FRESH_MS = 60_000;
const HOUR_MS = 3_600_000;
const STALE_MS = HOUR_MS;
/** No response is older than this when it is served as fresh: it took some seconds to arrive. */
const MAX_SERVED_AGE_MS = FRESH_MS + 20_000;
/** An import reaches the replica after this time at most. */
const MAX_LAG_MS = 6_000;

const LISTINGS = ['casa-one', 'casa-two'] as const;
type Slug = (typeof LISTINGS)[number];
const ITEM = '/api/v1/web/properties/';
const PAGE = '/api/v1/web/properties?limit=';
const FRESH = 'fresh=true';
/** The longest that a request waits for its counter, beside its read. */
const MAX_COUNTER_MS = 302;
/**
 * The longest that a request waits beside its counter if its stale response expired at most five
 * minutes ago.
 */
const MAX_SLOW_MS = 398;
/** The same if it is older. */
const MAX_STALL_MS = 2_098;
const SLOW_GRACE_MS = 300_000;

/** The state of a listing in the feed: its version, or null while it is hidden. */
type Shown = number | null;

/** The states of the listings in the database, each from a true time on. */
type History = { slug: Slug; from: number; shown: Shown }[];

export function feed(seed: string): Plan {
  const random = new Random(`feed ${seed}`);
  const machines = machinesOf(random, random.between(1, 4));
  const machine = () => random.between(0, machines.length - 1);
  const roughness = () => random.pick([0, 0, 0, 0.1, 0.4]);
  const catalogue = new Catalogue();
  const operations: Operation[] = LISTINGS.map((slug) => catalogue.importOf(slug, 1, -1, 0));
  let version = 1;
  const paths = [`${PAGE}5`, ...LISTINGS.map((slug) => `${ITEM}${slug}`)];
  const usual = random.pick(paths);
  const read = (name: string, atMs: number, path: string, at: number, rough: number) =>
    operations.push({
      atMs,
      name: `${name}: ${path}`,
      roughness: rough,
      perform: (world) => world.send(at, { path }),
    });
  // Bursts at the times at which responses expire.
  const early = [1, 1_000, 44_000, 59_000, 61_000, 130_000];
  const starts = [...early, HOUR_MS, HOUR_MS + 61_000, 2 * HOUR_MS];
  for (const [burst, startMs] of starts.entries()) {
    if (random.chance(0.3)) continue;
    const path = random.chance(0.5) ? usual : random.pick(paths);
    const spreadMs = random.pick([0, 30, 1_000, 6_000]);
    for (let index = random.between(1, 6); index > 0; index -= 1) {
      const own = random.chance(0.8) ? path : `${PAGE}5`;
      const sent = random.chance(0.1) ? freshly(own) : own;
      const atMs = startMs + random.between(0, spreadMs);
      read(`request ${burst}.${index}`, atMs, sent, machine(), roughness());
    }
    if (random.chance(0.3)) {
      // A page that is in no cache: one read has trouble, and another one brings the page
      // meanwhile.
      const [cold, at] = [`${PAGE}${10 + burst}`, machine()];
      read(`read in trouble ${burst}`, startMs, cold, at, 0.9);
      read(`read beside ${burst}`, startMs + random.between(100, 4_000), cold, at, 0);
    }
    if (random.chance(0.6)) {
      version += 1;
      const shown = random.chance(0.4) ? null : version;
      const atMs = startMs + random.between(0, 9_000);
      const lagMs = random.pick([0, 5, 800, MAX_LAG_MS]);
      operations.push(catalogue.importOf(random.pick(LISTINGS), shown, atMs, lagMs));
      const afterMs = random.between(1, 1_000);
      read(`after import ${burst}`, atMs + afterMs, freshly(path), machine(), roughness());
    }
    const trouble = (name: string, atMs: number, perform: Operation['perform']) =>
      operations.push({ atMs, name: `${name} ${burst}`, perform });
    if (random.chance(0.15)) {
      const forMs = random.pick([2_000, 100_000, HOUR_MS + 100_000, HOUR_MS + 100_000]);
      const atMs = startMs + random.between(0, 5_000);
      trouble('outage', atMs, (world) => world.breakDown('D1', forMs));
    }
    if (random.chance(0.25)) {
      const atMs = startMs + random.between(-5_000, 5_000);
      trouble('stall', atMs, (world) => world.breakDown('D1 stalls', 80_000));
    }
    if (random.chance(0.1)) {
      const index = machine();
      trouble('kill', startMs + 500, (world) => world.kill(index));
    }
  }
  const violationsIn = ({ exchanges }: World) => [
    ...noneTooOld(exchanges, catalogue, machines),
    ...noneNeedlesslyMissing(exchanges, catalogue),
    ...noneNeedlesslySlow(exchanges, catalogue),
  ];
  return { seed, machines, operations, endMs: 3 * HOUR_MS, violationsIn };
}

/** Returns the path with the wish for a fresh response. */
function freshly(path: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}${FRESH}`;
}

class Catalogue {
  readonly #history: History = [];
  /** The true time of the replica's last change that is known. */
  #replicatedUntil = 0;

  /** Stores a listing as an import does. The replica has it later. */
  importOf(slug: Slug, shown: Shown, atMs: number, lagMs: number): Operation {
    const state = shown === null ? 'is hidden' : `has version ${shown}`;
    const name = `import: ${slug} ${state}, seen by the replica after ${lagMs} ms, at ${atMs}`;
    const perform = ({ primary, replica, scheduler }: World) => {
      this.#history.push({ slug, from: scheduler.now, shown });
      const order = LISTINGS.indexOf(slug);
      const listing = sourceOf({
        id: `00000000-0000-4000-8000-00000000000${order}`,
        slug,
        name: `version ${shown}`,
        status: shown === null ? 'hidden' : 'listed',
        display_order: order,
      });
      const { columns: row } = rowOf(listing, PUBLIC_SITE_URL);
      const columns = Object.keys(row);
      const sql = `insert or replace into properties (${columns}) values (${columns.map(() => '?')})`;
      const statement = { sql, values: Object.values(row) };
      primary.batch([statement]);
      // A replica has the imports in their order.
      this.#replicatedUntil = Math.max(scheduler.now + lagMs, this.#replicatedUntil);
      const delay = this.#replicatedUntil - scheduler.now;
      scheduler.schedule(delay, () => void replica.batch([statement]));
    };
    return { atMs, name, perform };
  }

  /** Reports whether the database showed this of a listing at any time between the bounds. */
  showed(slug: Slug, shown: Shown, low: number, high: number): boolean {
    const own = this.#history.filter((each) => each.slug === slug);
    const all = [{ from: START - 10 * HOUR_MS, shown: null }, ...own];
    return all.some((each, index) => {
      const until = all[index + 1]?.from ?? Number.POSITIVE_INFINITY;
      return each.shown === shown && each.from <= high && until >= low;
    });
  }
}

/** Returns the path of a request without the wish for a fresh response. */
function pathOf({ request }: Exchange): string {
  return request.path.replace(/[?&]fresh=true$/, '');
}

function isFreshWanted({ request }: Exchange): boolean {
  return request.path.endsWith(FRESH);
}

function noneTooOld(
  exchanges: readonly Exchange[],
  catalogue: Catalogue,
  machines: Plan['machines'],
): Violation[] {
  const offsets = machines.map(({ clockOffset }) => clockOffset);
  // A machine may judge the age of a response that another one has dated.
  const clockErrorMs = Math.max(...offsets) - Math.min(...offsets);
  return exchanges.flatMap((exchange) => {
    const { status, headers, start, end, task } = exchange;
    if (status !== 200 && status !== 404) return [];
    const isStale = headers?.has('Age');
    const isFresh = isFreshWanted(exchange);
    const oldest = isStale ? end - STALE_MS - 1_000 : start - FRESH_MS;
    const bound = isFresh ? start : oldest - MAX_LAG_MS - clockErrorMs;
    const wrong = shownIn(exchange).filter(
      ({ slug, shown }) => !catalogue.showed(slug, shown, bound, end),
    );
    const kind = isFresh ? 'a fresh' : isStale ? 'a stale' : 'a cached';
    return wrong.map(({ slug, shown }) => ({
      promise: `${kind} response shows the catalogue of its time`,
      how: `${task}: ${slug} with version ${shown} from ${timeOf(start)} to ${timeOf(end)}`,
    }));
  });
}

/** Returns the version of each listing that a response shows. */
function shownIn(exchange: Exchange): { slug: Slug; shown: Shown }[] {
  const { status, body } = exchange;
  const path = pathOf(exchange);
  const data: { slug: string; name: string }[] =
    status === 404 ? [] : path.startsWith(PAGE) ? Object(body).data : [body];
  const expected = LISTINGS.filter((slug) => path.startsWith(PAGE) || path === `${ITEM}${slug}`);
  return expected.map((slug) => {
    const listing = data.find((each) => each.slug === slug);
    return { slug, shown: listing ? Number(listing.name.replace('version ', '')) : null };
  });
}

/** A 500 is right only for an isolate that has no response in its memory. */
function noneNeedlesslyMissing(exchanges: readonly Exchange[], catalogue: Catalogue): Violation[] {
  const failed = exchanges.filter(({ status }) => status === 500);
  return failed.flatMap((each) => {
    // A read may have failed at any time while the request waited for its counter.
    const mayWait = each.end - each.start <= MAX_COUNTER_MS;
    const cached = cachedFor(each, exchanges, catalogue, mayWait ? each.start : each.end);
    if (cached === undefined) return [];
    const how = `${each.task} failed at ${timeOf(each.end)}; ${cached.task} had the response at ${timeOf(cached.end)}, from the same isolate`;
    return [{ promise: 'a cached response is served while D1 fails', how }];
  });
}

/**
 * An isolate that has a response in its memory waits 0.3 s for D1, or 2 s if the response is old.
 */
function noneNeedlesslySlow(exchanges: readonly Exchange[], catalogue: Catalogue): Violation[] {
  return exchanges.flatMap((each) => {
    const tookMs = each.end - each.start - MAX_COUNTER_MS;
    if (each.status !== 200 || tookMs <= MAX_SLOW_MS) return [];
    const maxAgeMs = tookMs > MAX_STALL_MS ? STALE_MS : FRESH_MS + SLOW_GRACE_MS;
    const cached = cachedFor(each, exchanges, catalogue, each.start, maxAgeMs);
    if (cached === undefined) return [];
    const how = `${each.task} took ${each.end - each.start} ms; ${cached.task} had the response at ${timeOf(cached.end)}, from the same isolate`;
    return [{ promise: 'a cached response does not wait for a slow D1', how }];
  });
}

/**
 * Finds a request whose response was in the memory of the isolate `before` then, and could have
 * been served.
 */
function cachedFor(
  request: Exchange,
  exchanges: readonly Exchange[],
  catalogue: Catalogue,
  before: number,
  maxAgeMs = STALE_MS,
): Exchange | undefined {
  if (isFreshWanted(request)) return undefined;
  const path = pathOf(request);
  const cached = exchanges.find(
    (each) =>
      each.isolate === request.isolate &&
      pathOf(each) === path &&
      each.status === 200 &&
      !each.headers?.has('Age') &&
      each.end < before &&
      each.end > request.end - maxAgeMs + MAX_SERVED_AGE_MS,
  );
  const slug = LISTINGS.find((each) => path === `${ITEM}${each}`);
  if (cached === undefined || slug === undefined) return cached;
  // A listing that was found to be hidden has no response any more.
  const low = Math.max(START, cached.start - MAX_SERVED_AGE_MS);
  return catalogue.showed(slug, null, low, request.end) ? undefined : cached;
}
