/**
 * Plans that press the caches of the feed, and its promises (docs/reference/property-feed.md): the
 * age of a response, the older response that is served while D1 fails or stalls, the content of a
 * fresh response, and that no older state comes back.
 */

import type { importListings } from '../../tools/import/import.ts';
import type { ReadableFile } from '../../tools/import/read/types.ts';
import { PUBLIC_SITE_URL } from '../support/listings.ts';
import { type Database, d1Binding } from './d1.ts';
import { Random } from './random.ts';
import { START } from './scheduler.ts';
import { machinesOf, type Operation, type Plan, type Violation } from './simulation.ts';
import { type Exchange, timeOf, type World } from './world.ts';

const CHECK_MS = 60_000;
const HOUR_MS = 3_600_000;
const STALE_MS = HOUR_MS;
/** No response is older than this when it is served as fresh: it took some seconds to arrive. */
const MAX_SERVED_AGE_MS = CHECK_MS + 20_000;
/** An import or a rewind reaches the replica after this time at most. */
const MAX_LAG_MS = 6_000;

const LISTINGS = ['casa-one', 'casa-two'] as const;
const PLACE = 'place';
/** What an import changes: a listing, or a location that no listing has. */
type Fact = (typeof LISTINGS)[number] | typeof PLACE;
const FACTS = [...LISTINGS, PLACE] as const;
const ITEM = '/api/v1/web/properties/';
const PAGE = '/api/v1/web/properties?limit=';
const PLACES = '/api/v1/web/locations?limit=5';
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

/** The version of a listing or of the location; null while it is hidden, or not stored yet. */
type Shown = number | null;

/** The states in the database, each from a true time on. */
type History = { fact: Fact; from: number; shown: Shown }[];

export function feed(seed: string): Plan {
  const random = new Random(`feed ${seed}`);
  const machines = machinesOf(random, random.between(1, 4));
  const machine = () => random.between(0, machines.length - 1);
  const roughness = () => random.pick([0, 0, 0, 0.1, 0.4]);
  const catalogue = new Catalogue();
  const first = LISTINGS.map((slug) => catalogue.importOf(slug, 1, -1, 0));
  const operations: Operation[] = [catalogue.importOf(PLACE, 1, -2, 0), ...first];
  let version = 1;
  const paths = [`${PAGE}5`, PLACES, ...LISTINGS.map((slug) => `${ITEM}${slug}`)];
  const usual = random.pick(paths);
  const read = (name: string, atMs: number, path: string, at: number, rough: number) =>
    operations.push({
      atMs,
      name: `${name}: ${path}`,
      roughness: rough,
      perform: (world) => world.send(at, { path }),
    });
  // One isolate reads the primary, a page of the replica, and then the first page again.
  const follow = (name: string, atMs: number, path: string) => {
    const at = machine();
    const freshMs = atMs + random.between(1, 1_000);
    read(`fresh after ${name}`, freshMs, freshly(path), at, roughness());
    read(`cold after ${name}`, freshMs + 1_000, `${PAGE}${random.between(30, 99)}`, at, 0);
    read(`again after ${name}`, freshMs + 2_000, path, at, 0);
    read(`long after ${name}`, freshMs + 100_000, path, random.chance(0.5) ? at : machine(), 0);
  };
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
      const fact = random.pick(FACTS);
      const shown = fact !== PLACE && random.chance(0.4) ? null : version;
      const atMs = startMs + random.between(0, 9_000);
      const lagMs = random.pick([0, 5, 800, MAX_LAG_MS]);
      operations.push(catalogue.importOf(fact, shown, atMs, lagMs));
      follow(
        `import ${burst}`,
        atMs,
        fact === PLACE ? PLACES : random.pick([path, `${ITEM}${fact}`]),
      );
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
    if (random.chance(0.3)) {
      const atMs = startMs + random.between(0, 9_000);
      operations.push(catalogue.rewind(random.chance(0.5), atMs, random.between(0, MAX_LAG_MS)));
      follow(`rewind ${burst}`, atMs, path);
    }
    if (random.chance(0.1)) trouble('eviction', startMs + 700, (world) => world.evictEdges());
    if (random.chance(0.1)) {
      const index = machine();
      trouble('kill', startMs + 500, (world) => world.kill(index));
    }
  }
  const violationsIn = ({ exchanges }: World) => [
    ...noneTooOld(exchanges, catalogue, machines),
    ...noneGoesBack(exchanges, catalogue),
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
  /** The state after each import, and the number of batches until then. */
  readonly #states: { batches: number; shown: Record<Fact, Shown> }[] = [];
  /** The times of rewinds without a new generation. */
  readonly #rewinds: number[] = [];
  /** The batches of the primary that the replica gets. */
  #sent = 0;
  /** The true time of the replica's last change that is known. */
  #replicatedUntil = 0;

  /** Imports a file with one record. The replica has it later. */
  importOf(fact: Fact, shown: Shown, atMs: number, lagMs: number): Operation {
    const state = shown === null ? 'is hidden' : `has version ${shown}`;
    const name = `import: ${fact} ${state}, seen by the replica after ${lagMs} ms, at ${atMs}`;
    const perform = async (world: World) => {
      const { primary } = world;
      const call = world.imports('tools/import/import.ts').importListings as typeof importListings;
      const database = d1Binding(primary, primary, async (run) => run()) as D1Database;
      const options = {
        database,
        publicSiteUrl: PUBLIC_SITE_URL,
        isDryRun: false,
        onProgress() {},
      };
      const { kind } = await call(fileOf(world, fact, shown), options);
      if (kind === 'rejected') throw new Error(`${name}: rejected`);
      this.#changed(world, { ...this.#shown, [fact]: shown });
      const written = primary.log.slice(this.#sent);
      this.#sent = primary.log.length;
      this.#replicate(world, lagMs, (replica) => written.map((batch) => replica.batch(batch)));
    };
    return { atMs, name, perform };
  }

  /** Undoes the last import, and begins a new generation unless the operator forgot to. */
  rewind(isForgotten: boolean, atMs: number, lagMs: number): Operation {
    const how = isForgotten ? 'without a new generation' : 'with a new generation';
    const perform = (world: World) => {
      const last = this.#states.at(-2);
      // The first imports stay.
      if (last === undefined || this.#states.length <= FACTS.length) return;
      const begin = {
        sql: 'update database_identity set generation = ?, catalogue_number = 0',
        values: [`g${atMs}`],
      };
      const apply = (database: Database) => {
        database.rewind(last.batches);
        if (!isForgotten) database.batch([begin]);
      };
      apply(world.primary);
      this.#states.splice(-2);
      if (isForgotten) this.#rewinds.push(world.scheduler.now);
      this.#changed(world, last.shown);
      this.#sent = world.primary.log.length;
      this.#replicate(world, lagMs, apply);
    };
    return {
      atMs,
      name: `rewind ${how}, seen by the replica after ${lagMs} ms, at ${atMs}`,
      perform,
    };
  }

  get #shown(): Record<Fact, Shown> {
    return this.#states.at(-1)?.shown ?? { 'casa-one': null, 'casa-two': null, place: null };
  }

  #changed({ primary, scheduler }: World, shown: Record<Fact, Shown>): void {
    for (const fact of FACTS) this.#history.push({ fact, from: scheduler.now, shown: shown[fact] });
    this.#states.push({ batches: primary.log.length, shown });
  }

  /** A replica has the changes in their order. */
  #replicate({ replica, scheduler }: World, lagMs: number, change: (replica: Database) => unknown) {
    this.#replicatedUntil = Math.max(scheduler.now + lagMs, this.#replicatedUntil);
    scheduler.schedule(this.#replicatedUntil - scheduler.now, () => void change(replica));
  }

  /** Reports whether a rewind without a new generation is becoming known between the bounds. */
  wasRewound(low: number, high: number): boolean {
    return this.#rewinds.some((at) => at > low - CHECK_MS - 2 * MAX_LAG_MS && at <= high);
  }

  /** Returns the time at which the database began to show this, before a time. */
  began(fact: Fact, shown: Shown, before: number): number {
    const own = this.#history.filter((each) => each.fact === fact && each.shown === shown);
    return Math.min(...own.filter(({ from }) => from <= before).map(({ from }) => from));
  }

  /** Reports whether the database showed this at any time between the bounds. */
  showed(fact: Fact, shown: Shown, low: number, high: number): boolean {
    const own = this.#history.filter((each) => each.fact === fact);
    const all = [{ from: START - 10 * HOUR_MS, shown: null }, ...own];
    return all.some((each, index) => {
      const until = all[index + 1]?.from ?? Number.POSITIVE_INFINITY;
      return each.shown === shown && each.from <= high && until >= low;
    });
  }
}

/** Makes a file with one record. */
function fileOf(world: World, fact: Fact, shown: Shown): ReadableFile {
  const id = `00000000-0000-4000-8000-00000000000${FACTS.indexOf(fact)}`;
  const place = { id, slug: PLACE, name: { en: `version ${shown}` } };
  const home = {
    ...{ id, slug: fact, name: `version ${shown}`, status: shown === null ? 'hidden' : 'listed' },
    display_order: FACTS.indexOf(fact),
  };
  const content = fact === PLACE ? { locations: [place] } : { properties: [home] };
  const bytes = new TextEncoder().encode(JSON.stringify(content));
  const { readListingsFile } = world.imports('tools/import/file.ts');
  return (readListingsFile as (bytes: Uint8Array) => ReadableFile)(bytes);
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
    const oldest = isStale ? end - STALE_MS - 1_000 : start - CHECK_MS;
    const bound = isFresh ? start : oldest - MAX_LAG_MS - clockErrorMs;
    const wrong = shownIn(exchange).filter(
      ({ fact, shown }) => !catalogue.showed(fact, shown, bound, end),
    );
    const kind = isFresh ? 'a fresh' : isStale ? 'a stale' : 'a cached';
    return wrong.map(({ fact, shown }) => ({
      promise: `${kind} response shows the catalogue of its time`,
      how: `${task}: ${fact} with version ${shown} from ${timeOf(start)} to ${timeOf(end)}`,
    }));
  });
}

/** Returns the version of each fact that a response shows. */
function shownIn(exchange: Exchange): { fact: Fact; shown: Shown }[] {
  const { status, body } = exchange;
  const path = pathOf(exchange);
  const data: { slug: string; name: unknown }[] =
    status === 404 ? [] : (Object(body).data ?? [body]);
  const isOn = (fact: Fact) =>
    path === PLACES
      ? fact === PLACE
      : fact !== PLACE && (path.startsWith(PAGE) || path === `${ITEM}${fact}`);
  return FACTS.filter(isOn).map((fact) => {
    // The name of a location is in languages.
    const [version] =
      /\d+/.exec(JSON.stringify(data.find(({ slug }) => slug === fact)?.name) ?? '') ?? [];
    return { fact, shown: version === undefined ? null : Number(version) };
  });
}

/** An isolate never shows a page as it was before, except while a rewind becomes known. */
function noneGoesBack(exchanges: readonly Exchange[], catalogue: Catalogue): Violation[] {
  const told = exchanges.filter(({ status }) => status === 200 || status === 404);
  return told.flatMap((later) => {
    const before = told.filter(
      (each) =>
        each.isolate === later.isolate && pathOf(each) === pathOf(later) && each.end < later.start,
    );
    return before.flatMap((each) => {
      if (catalogue.wasRewound(each.start, later.end)) return [];
      const older = shownIn(later).filter(({ fact, shown }) => {
        const known = shownIn(each).find((other) => other.fact === fact);
        if (known === undefined || known.shown === shown) return false;
        const since = catalogue.began(fact, known.shown, each.end);
        return !catalogue.showed(fact, shown, since + 1, later.end);
      });
      return older.map(({ fact, shown }) => ({
        promise: 'no older state comes back',
        how: `${later.task} at ${timeOf(later.start)}: ${fact} with version ${shown}, after ${each.task}`,
      }));
    });
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
    const maxAgeMs = tookMs > MAX_STALL_MS ? STALE_MS : CHECK_MS + SLOW_GRACE_MS;
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
