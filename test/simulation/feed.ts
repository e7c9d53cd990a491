/**
 * Plans that press the caches of the feed, and its promises (docs/reference/property-feed.md): the age of an answer, the older
 * answer that is given while D1 fails or stalls, and the content of a fresh answer.
 */

import { rowOf } from '../../tools/import/rows.ts';
import { sourceOf } from '../support/listings.ts';
import { Random } from './random.ts';
import { START } from './scheduler.ts';
import {
  kill,
  machinesOf,
  type Operation,
  outage,
  type Part,
  type Plan,
  stall,
  timeOf,
  type Violation,
} from './simulation.ts';
import type { Exchange, World } from './world.ts';

const SITE = 'https://www.example.com';
const FRESH_MS = 60_000;
const STALE_MS = 3_600_000;
const HOUR_MS = 3_600_000;
/** No answer is older than this when it is given: it was fresh, and took some seconds to arrive. */
const MAX_GIVEN_AGE_MS = FRESH_MS + 20_000;
/** An import reaches the replica after this time at most. */
const MAX_LAG_MS = 6_000;

const LISTINGS = ['casa-one', 'casa-two'] as const;
type Slug = (typeof LISTINGS)[number];
const ITEM = '/api/v1/web/properties/';
const PAGE = '/api/v1/web/properties?limit=';
const FRESH = 'fresh=true';
/** The longest that a request waits for its counter, beside its read. */
const MAX_COUNTER_MS = 302;
/** The longest that a request waits beside its counter if its stale response is at most five minutes past its time. */
const MAX_SLOW_MS = 398;
/** The same if it is older. */
const MAX_STALL_MS = 2_098;
const SLOW_GRACE_MS = 300_000;

/** The state of a listing in the feed: its version, or null while it is hidden. */
type Shown = number | null;

/** The state of a listing in the database, from a true time on. */
type History = { slug: Slug; from: number; shown: Shown }[];

const histories = new WeakMap<World, History>();
/** The true time of the last change of the replica that is known. */
const replicatedUntil = new WeakMap<World, number>();

export const FEED: Part = { planOf, violationsIn };

function planOf(seed: string): Plan {
  const random = new Random(`feed ${seed}`);
  const machines = machinesOf(random, random.between(1, 4));
  const roughness = () => random.pick([0, 0, 0, 0.1, 0.4]);
  const operations: Operation[] = LISTINGS.map((slug) => importOf(slug, 1, -1, 0));
  let version = 1;
  const paths = [`${PAGE}5`, ...LISTINGS.map((slug) => `${ITEM}${slug}`)];
  const usual = random.pick(paths);
  const read = (name: string, atMs: number, path: string, machine: number, rough: number) =>
    operations.push({
      atMs,
      name,
      roughness: rough,
      perform: (world) =>
        world.send(machine, {
          method: 'GET',
          path,
          client: '203.0.113.1',
          label: path.replace(ITEM, ''),
        }),
    });
  // Bursts at the times at which answers grow old.
  const starts = [
    1,
    1_000,
    44_000,
    59_000,
    61_000,
    130_000,
    HOUR_MS,
    HOUR_MS + 61_000,
    2 * HOUR_MS,
  ];
  for (const [burst, startMs] of starts.entries()) {
    if (random.chance(0.3)) continue;
    const path = random.chance(0.5) ? usual : random.pick(paths);
    const spreadMs = random.pick([0, 30, 1_000, 6_000]);
    const machine = () => random.between(0, machines.length - 1);
    for (let index = random.between(1, 6); index > 0; index -= 1) {
      const asked = random.chance(0.8) ? path : `${PAGE}5`;
      const sent = random.chance(0.1) ? freshly(asked) : asked;
      const atMs = startMs + random.between(0, spreadMs);
      read(`request ${burst}.${index}`, atMs, sent, machine(), roughness());
    }
    if (random.chance(0.3)) {
      // A page that is in no cache: one read has trouble, and another one brings the page meanwhile.
      const [cold, at] = [`${PAGE}${10 + burst}`, machine()];
      read(`read in trouble ${burst}`, startMs, cold, at, 0.9);
      read(`read beside ${burst}`, startMs + random.between(100, 4_000), cold, at, 0);
    }
    if (random.chance(0.6)) {
      version += 1;
      const shown = random.chance(0.4) ? null : version;
      const atMs = startMs + random.between(0, 9_000);
      const lagMs = random.pick([0, 5, 800, MAX_LAG_MS]);
      operations.push(importOf(random.pick(LISTINGS), shown, atMs, lagMs));
      if (random.chance(0.5)) {
        const told = atMs + random.between(1, 1_000);
        read(`told of the import ${burst}`, told, freshly(path), machine(), roughness());
      }
    }
    if (random.chance(0.15)) {
      const forMs = random.pick([2_000, 100_000, HOUR_MS + 100_000, HOUR_MS + 100_000]);
      operations.push(outage(`outage ${burst}`, 'D1', startMs + random.between(0, 5_000), forMs));
    }
    if (random.chance(0.25)) {
      operations.push(stall(`stall ${burst}`, startMs + random.between(-5_000, 5_000), 80_000));
    }
    if (random.chance(0.1)) {
      operations.push(kill(random, `kill ${burst}`, machines.length, startMs + 500));
    }
  }
  const vars = { FEED_CACHE_SECONDS: '60', FEED_STALE_SECONDS: '3600', PUBLIC_SITE_URL: SITE };
  return { seed, machines, vars, operations, endMs: 3 * HOUR_MS };
}

/** Returns the path with the wish for a fresh answer. */
function freshly(path: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}${FRESH}`;
}

/** Stores a listing as an import does. The replica has it later. */
function importOf(slug: Slug, shown: Shown, atMs: number, lagMs: number): Operation {
  const name = `import: ${slug} ${shown === null ? 'is hidden' : `has version ${shown}`}`;
  const perform = (world: World) => {
    const history = histories.get(world) ?? [];
    histories.set(world, history);
    history.push({ slug, from: world.scheduler.now, shown });
    const listing = sourceOf({
      id: `00000000-0000-4000-8000-00000000000${LISTINGS.indexOf(slug)}`,
      slug,
      name: `version ${shown}`,
      status: shown === null ? 'hidden' : 'listed',
      display_order: LISTINGS.indexOf(slug),
    });
    const { columns: row } = rowOf(listing, SITE);
    const columns = Object.keys(row);
    const sql = `insert or replace into properties (${columns}) values (${columns.map(() => '?')})`;
    const statement = { sql, values: Object.values(row) };
    world.fleet.primary.batch([statement]);
    // A replica has the imports in their order.
    const at = Math.max(world.scheduler.now + lagMs, replicatedUntil.get(world) ?? 0);
    replicatedUntil.set(world, at);
    const replicate = () => world.fleet.replica.batch([statement]);
    if (at === world.scheduler.now) replicate();
    else world.scheduler.schedule(at - world.scheduler.now, { isAlive: true }, replicate);
  };
  return {
    atMs,
    name: `${name}, seen by the replica after ${lagMs} ms, at ${atMs}`,
    roughness: 0,
    perform,
  };
}

function violationsIn(world: World, plan: Plan): Violation[] {
  return [
    ...noneTooOld(world, plan),
    ...noneNeedlesslyMissing(world),
    ...noneNeedlesslySlow(world),
  ];
}

/** Returns the path of a request, as it is without the wish for a fresh answer. */
function pathOf({ request }: Exchange): string {
  return request.path.replace(/[?&]fresh=true$/, '');
}

function isFreshAsked({ request }: Exchange): boolean {
  return request.path.endsWith(FRESH);
}

function noneTooOld(world: World, { machines }: Plan): Violation[] {
  const offsets = machines.map(({ clockOffset }) => clockOffset);
  // A machine may judge the age of an answer that another one has dated.
  const clockErrorMs = Math.max(...offsets) - Math.min(...offsets);
  return world.exchanges.flatMap((exchange) => {
    const { status, headers, start, end, task } = exchange;
    if (status !== 200 && status !== 404) return [];
    const age = headers?.get('Age');
    const isStale = age !== null && age !== undefined;
    const oldest = isStale ? end - STALE_MS - 1_000 : start - FRESH_MS;
    const isOfNow = isFreshAsked(exchange);
    const bound = isOfNow ? start : oldest - MAX_LAG_MS - clockErrorMs;
    return shownIn(exchange).flatMap(({ slug, shown }) => {
      if (wasShown(world, slug, shown, bound, end)) return [];
      const promise = isOfNow
        ? 'a fresh answer shows what was imported before it was asked for'
        : isStale
          ? 'no stale answer is older than an hour'
          : shown === null
            ? 'no listing is missing after it was published'
            : 'no answer is older than FEED_CACHE_SECONDS, and no hidden listing is shown after its time';
      const how = `${task}: ${slug} with version ${shown}, ${isStale ? `Age ${age}` : 'fresh'}, from ${timeOf(start)} to ${timeOf(end)}`;
      return [{ promise, how }];
    });
  });
}

/** Returns the version of each listing that an answer shows. */
function shownIn(exchange: Exchange): { slug: Slug; shown: Shown }[] {
  const { status, body } = exchange;
  const path = pathOf(exchange);
  const versionOf = (listing: unknown) => Number(Object(listing).name.replace('version ', ''));
  if (!path.startsWith(PAGE)) {
    const slug = LISTINGS.find((each) => path === `${ITEM}${each}`);
    if (slug === undefined) throw new Error(`nothing is known of ${path}`);
    return [{ slug, shown: status === 404 ? null : versionOf(body) }];
  }
  const { data } = body as { data: { slug: string }[] };
  return LISTINGS.map((slug) => {
    const listing = data.find((each) => each.slug === slug);
    return { slug, shown: listing === undefined ? null : versionOf(listing) };
  });
}

/** Reports whether the database showed this of a listing at any time between the bounds. */
function wasShown(world: World, slug: Slug, shown: Shown, low: number, high: number): boolean {
  const own = (histories.get(world) ?? []).filter((each) => each.slug === slug);
  const all = [{ slug, from: START - 10 * HOUR_MS, shown: null }, ...own];
  return all.some((each, index) => {
    const until = all[index + 1]?.from ?? Number.POSITIVE_INFINITY;
    return each.shown === shown && each.from <= high && until >= low;
  });
}

/** A 500 is right only for an isolate that has no answer in its memory. */
function noneNeedlesslyMissing(world: World): Violation[] {
  const failed = world.exchanges.filter(({ status }) => status === 500);
  return failed.flatMap((each) => {
    // A read may have failed at any time while the request waited for its counter.
    const mayWait = each.end - each.start <= MAX_COUNTER_MS;
    const given = inMemoryOf(world, each, mayWait ? each.start : each.end);
    if (given === undefined) return [];
    const how = `${each.task} failed at ${timeOf(each.end)}; ${given.task} had the answer at ${timeOf(given.end)}, from the same isolate`;
    return [{ promise: 'an answer that is there stands in while D1 fails', how }];
  });
}

/** An isolate that has a response in its memory waits 0.3 s for D1, or 2 s if the response is old. */
function noneNeedlesslySlow(world: World): Violation[] {
  return world.exchanges.flatMap((each) => {
    const tookMs = each.end - each.start - MAX_COUNTER_MS;
    if (each.status !== 200 || tookMs <= MAX_SLOW_MS) return [];
    const maxAgeMs = tookMs > MAX_STALL_MS ? STALE_MS : FRESH_MS + SLOW_GRACE_MS;
    const given = inMemoryOf(world, each, each.start, maxAgeMs);
    if (given === undefined) return [];
    const how = `${each.task} took ${each.end - each.start} ms; ${given.task} had the response at ${timeOf(given.end)}, from the same isolate`;
    return [{ promise: 'a cached response is not kept from its reader by a slow D1', how }];
  });
}

/** Finds a request whose answer was in the memory of the isolate `before` then, and could have been given. */
function inMemoryOf(
  world: World,
  asked: Exchange,
  before: number,
  maxAgeMs = STALE_MS,
): Exchange | undefined {
  if (isFreshAsked(asked)) return undefined;
  const given = world.exchanges.find(
    (each) =>
      each.isolate === asked.isolate &&
      pathOf(each) === pathOf(asked) &&
      each.status === 200 &&
      !each.headers?.has('Age') &&
      each.end < before &&
      each.end > asked.end - maxAgeMs + MAX_GIVEN_AGE_MS,
  );
  return given && mayBeForgotten(world, given, asked) ? undefined : given;
}

/** A listing that was found to be hidden has no answer any more. */
function mayBeForgotten(world: World, given: Exchange, failed: Exchange): boolean {
  const slug = LISTINGS.find((each) => pathOf(given) === `${ITEM}${each}`);
  if (slug === undefined) return false;
  const low = Math.max(START, given.start - MAX_GIVEN_AGE_MS);
  return wasShown(world, slug, null, low, failed.end);
}
