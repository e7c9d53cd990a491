/**
 * An operator who imports, erases, backs up, restores, moves and sets back, while programs break off at any call:
 * the project's own tools on databases of the simulation, and the service that a mirror of the catalogue and a
 * consumer of events read.
 *
 * One step follows another, so there is no clock here but the one that each step and each event moves on.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import type { createApp } from '../../src/app.ts';
import type { dump } from '../../tools/database/dump.ts';
import type { loadDump } from '../../tools/database/dump-file.ts';
import type { beginGeneration, readLineage } from '../../tools/database/identity.ts';
import type { restore } from '../../tools/database/restore.ts';
import type { eraseAggregate, findAggregate } from '../../tools/erasure/erase.ts';
import type { Erasure, nameOf, playLedger } from '../../tools/erasure/ledger.ts';
import type { readListingsFile } from '../../tools/import/file.ts';
import type { importListings } from '../../tools/import/import.ts';
import { Database, d1Binding } from './d1.ts';
import { cryptoOf, type Source } from './modules.ts';
import { Random } from './random.ts';
import type { Violation } from './simulation.ts';
import { VARS } from './world.ts';

const SITES = ['https://www.example.com', 'https://new.example.com'];
const HOMES = 6;
const SLUGS = Array.from({ length: HOMES + 3 }, (_, index) => `home-${index}`);
const GUESTS = ['anna', 'bert'];
const STEPS = 30;
const START_MS = Date.parse('2027-01-01T00:00:00Z');

/** The tools and the service, loaded from one source. */
export type Programs = {
  createApp: typeof createApp;
  dump: typeof dump;
  loadDump: typeof loadDump;
  beginGeneration: typeof beginGeneration;
  readLineage: typeof readLineage;
  restore: typeof restore;
  eraseAggregate: typeof eraseAggregate;
  findAggregate: typeof findAggregate;
  nameOf: typeof nameOf;
  playLedger: typeof playLedger;
  readListingsFile: typeof readListingsFile;
  importListings: typeof importListings;
};

/** Loads the programs of a source, or of a variant of it. */
export function programsOf(source: Source): Programs {
  const random = new Random('crypto');
  const silent = { log: () => {}, info: () => {}, error: () => {} };
  const imports = source.load({
    ...{ Date, Math, setTimeout, clearTimeout, caches: {}, console: silent },
    crypto: cryptoOf(() => random.next()),
    scheduler: { wait: async () => {} },
  } as never);
  return Object.assign(
    {},
    imports('app.ts'),
    ...['dump', 'dump-file', 'identity', 'restore'].map((name) =>
      imports(`tools/database/${name}.ts`),
    ),
    imports('tools/erasure/erase.ts'),
    imports('tools/erasure/ledger.ts'),
    imports('tools/import/file.ts'),
    imports('tools/import/import.ts'),
  ) as unknown as Programs;
}

/** A listing of the file that the operator has. */
type Home = { id: string; slug: string; name: string; status: 'listed' | 'hidden' };
type Backup = { file: string };
type Event = { id: string; guest: string; at: number };

const changePage = z.object({
  data: z.array(z.object({ id: z.string(), property: z.unknown() })),
  has_more: z.boolean(),
  resume_cursor: z.string(),
});

const eventPage = changePage.extend({ data: z.array(z.object({ id: z.string() })) });

/** Runs one seed. Returns its history, and the promises that were broken. */
export async function runOperator(programs: Programs, seed: string) {
  const folder = mkdtempSync(join(tmpdir(), 'operator-'));
  try {
    const operator = new Operator(programs, new Random(`operator ${seed}`), folder);
    await operator.work();
    return { history: operator.history, violations: operator.violations };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

class Operator {
  readonly history: string[] = [];
  readonly violations: Violation[] = [];
  readonly #programs: Programs;
  readonly #random: Random;
  readonly #folder: string;
  readonly #ledger: Erasure[] = [];
  readonly #backups: Backup[] = [];
  readonly #states: ReturnType<Database['state']>[] = [];
  readonly #mirror = new Map<string, unknown>();
  #database = new Database();
  readonly #app: ReturnType<typeof createApp>;
  #cursor = '';
  /** Every event that was ever sent → its guest. */
  readonly #sent = new Map<string, string>();
  readonly #handled = new Set<string>();
  #eventCursor = '';
  #homes: Home[] = Array.from({ length: HOMES }, (_, index) => ({
    id: `00000000-0000-4000-8000-00000000000${index}`,
    slug: `home-${index}`,
    name: 'version 0',
    status: 'listed',
  }));
  #site = 0;
  #files = 0;
  #now = START_MS;

  constructor(programs: Programs, random: Random, folder: string) {
    this.#programs = programs;
    this.#app = programs.createApp();
    this.#random = random;
    this.#folder = folder;
  }

  async work(): Promise<void> {
    await this.#import();
    this.#send();
    this.#send();
    await this.#backUp();
    this.#remember();
    for (let step = 0; step < STEPS && this.violations.length === 0; step += 1) {
      this.#now += 60_000;
      await this.#random.pick([
        () => this.#change(),
        () => this.#change(),
        () => this.#change(),
        () => this.#change(),
        () => this.#follow(),
        () => this.#consume(),
        () => this.#consume(),
        () => this.#send(),
        () => this.#send(),
        () => this.#send(),
        () => this.#erase(),
        () => this.#erase(),
        () => this.#eraseAgain(),
        () => this.#eraseAgain(),
        () => this.#backUp(),
        () => this.#restoreSome(),
        () => this.#restoreSome(),
        () => this.#move(),
        () => this.#remember(),
        () => this.#travel(),
        () => this.#travel(),
        () => this.#changeSite(),
      ])();
      this.#checkErasures();
    }
    // At the end everything is imported once more, as the documents say, and the readers go on.
    await this.#import();
    await this.#follow();
    this.#checkMirror();
    await this.#consume();
  }

  /** The binding of a database. It breaks off at call number `failsAt`. */
  #open(database = this.#database, failsAt = Number.POSITIVE_INFINITY): D1Database {
    let calls = 0;
    return d1Binding(database, database, async (effect) => {
      calls += 1;
      if (calls >= failsAt) throw new Error('broken off');
      return effect();
    });
  }

  /** Changes some listings in the file: texts, statuses, slugs, two of which may be exchanged. */
  async #change(): Promise<void> {
    const homes = this.#homes.map((home) => ({ ...home }));
    for (let count = this.#random.between(1, HOMES); count > 0; count -= 1) {
      const home = this.#random.pick(homes);
      home.name = `version ${this.#now}`;
      if (this.#random.chance(0.4)) home.status = home.status === 'listed' ? 'hidden' : 'listed';
      if (this.#random.chance(0.4)) {
        const slug = this.#random.pick(SLUGS);
        const holder = homes.find((each) => each.slug === slug);
        if (holder) holder.slug = home.slug;
        home.slug = slug;
      }
    }
    this.#homes = homes;
    const failsAt = this.#random.chance(0.5) ? this.#random.between(3, 10) : undefined;
    await this.#import(failsAt);
    const isDone = failsAt === undefined;
    if (isDone || this.#random.chance(0.5)) await this.#follow();
    if (isDone) this.#checkMirror();
    if (this.#random.chance(0.3)) this.#changeSite();
  }

  async #import(failsAt?: number): Promise<void> {
    const { readListingsFile, importListings } = this.#programs;
    const properties = this.#homes.map((home) => ({ ...home, display_order: 0 }));
    const read = readListingsFile(Buffer.from(JSON.stringify({ properties })));
    if (read.kind !== 'read') throw new Error('the file cannot be read');
    const before = this.#newestPlace();
    let outcome = 'broken off';
    try {
      const done = await importListings(read, {
        database: this.#open(this.#database, failsAt),
        publicSiteUrl: this.#siteUrl(),
        isDryRun: false,
        pruning: 'none',
        onProgress: () => undefined,
      });
      outcome =
        done.kind === 'accepted' ? `${done.changes} changes` : JSON.stringify(done.problems);
    } catch (error) {
      if (failsAt === undefined) throw error;
    }
    this.#tell(`import for ${this.#siteUrl()}: ${outcome}`);
    const changed = this.#database.rows(
      'select status from properties where change_seq > ? order by change_seq',
      before,
    );
    const statuses = changed.map(({ status }) => (status === 'hidden' ? 'removed' : 'published'));
    if (statuses.join().includes('published,removed')) {
      this.#break('the removals of an import come first', statuses.join());
    }
  }

  #newestPlace(): number {
    return Number(this.#database.rows('select max(change_seq) as place from properties')[0]?.place);
  }

  #siteUrl(): string {
    return SITES[this.#site] ?? '';
  }

  /** The documents ask for an import after each change: until then the list does not tell of it. */
  #changeSite(): void {
    const notImported = this.#database.rows(
      "select 1 from properties where status <> 'hidden' and rendering like ?",
      `% ${SITES[1 - this.#site]}`,
    );
    if (notImported.length > 0) return;
    this.#site = 1 - this.#site;
    this.#tell(`PUBLIC_SITE_URL becomes ${this.#siteUrl()}`);
  }

  /** Reads a page of the API. Returns undefined where the cursor is refused. */
  async #read(path: string): Promise<unknown> {
    // Without a counter, requests are served uncounted.
    const env = { ...VARS, DB: this.#open(), PUBLIC_SITE_URL: this.#siteUrl() };
    const context = { waitUntil: () => {}, passThroughOnException: () => {}, props: {} };
    const headers = { 'x-api-key': VARS.API_KEY };
    const request = new Request(`https://api.example.com/api/v1/${path}`, { headers });
    const response = await this.#app.fetch(request, env as never, context as never);
    const body: unknown = await response.json();
    if (response.status === 200) return body;
    const text = JSON.stringify(body);
    if (text.includes('"invalid_cursor"')) return undefined;
    throw new Error(text);
  }

  /** Reads the changes as docs/guides/keeping-a-copy.md says. */
  async #follow(): Promise<void> {
    for (let hasMore = true; hasMore; ) {
      const after = this.#cursor && `&after=${this.#cursor}`;
      const body = await this.#read(`web/property-changes?limit=4${after}`);
      if (body === undefined) {
        this.#cursor = '';
        this.#mirror.clear();
        continue;
      }
      const { data, has_more, resume_cursor } = changePage.parse(body);
      for (const { id, property } of data) {
        if (property) this.#mirror.set(id, property);
        else this.#mirror.delete(id);
      }
      this.#cursor = resume_cursor;
      hasMore = has_more;
    }
    this.#tell(`the mirror holds ${this.#mirror.size} listings`);
  }

  /** Reads the events as docs/guides/following-events.md says. A consumer passes over the ids that it has handled. */
  async #consume(): Promise<void> {
    for (let hasMore = true; hasMore; ) {
      const cursor = this.#eventCursor && `&cursor=${this.#eventCursor}`;
      const body = await this.#read(`events?order=asc&limit=3${cursor}`);
      if (body === undefined) {
        this.#eventCursor = '';
        continue;
      }
      const { data, has_more, resume_cursor } = eventPage.parse(body);
      for (const { id } of data) this.#handled.add(id);
      this.#eventCursor = resume_cursor;
      hasMore = has_more;
    }
    this.#tell(`the consumer has handled ${this.#handled.size} events`);
    for (const id of this.#eventIds().filter((each) => !this.#handled.has(each))) {
      this.#break('a consumer handles every event', id);
    }
  }

  /** An event of a guest comes. Half of the time it is the last one that a set-back has undone. */
  #send(): void {
    const stored = this.#eventIds();
    const undone = [...this.#sent].filter(([id]) => !stored.includes(id));
    const guest = this.#random.pick(GUESTS);
    const isNew = this.#random.chance(0.5);
    const again = isNew ? undefined : undone.at(-1);
    const [id, aggregateId] = again ?? [`${guest}-${this.#sent.size}`, guest];
    this.#sent.set(id, aggregateId);
    this.#now += 1_000;
    this.#database.rows(
      `insert into events (id, type, aggregate_type, aggregate_id, created_at, payload)
       values (?, 'booking.created', 'booking', ?, ?, '{"note":"personal"}')`,
      id,
      aggregateId,
      this.#now,
    );
    this.#tell(`event ${id}`);
  }

  #eventIds(): string[] {
    return this.#database.rows('select id from events').map(({ id }) => String(id));
  }

  async #erase(): Promise<void> {
    const { eraseAggregate, findAggregate, nameOf, readLineage } = this.#programs;
    const aggregate = { type: 'booking', id: this.#random.pick(GUESTS) };
    const database = this.#open();
    const { lastId } = await findAggregate(database, aggregate);
    if (lastId === null) return;
    await eraseAggregate(database, aggregate, { lastId, now: this.#now });
    this.#ledger.push({
      lineage: await readLineage(database),
      aggregate: nameOf(aggregate),
      last_event_id: lastId,
      erased_at: new Date(this.#now).toISOString(),
    });
    this.#erasures.push({ guest: aggregate.id, at: this.#now });
    this.#tell(`erases ${aggregate.id}`);
  }

  /** `erase-events --again`. */
  async #eraseAgain(): Promise<void> {
    const database = this.#open();
    const { playLedger, readLineage } = this.#programs;
    await playLedger(database, await readLineage(database), this.#ledger);
    this.#tell('erases again');
  }

  readonly #erasures: { guest: string; at: number }[] = [];

  /** The payload of an event is there exactly when no erasure of its guest came after it. */
  #checkErasures(): void {
    const events = this.#database.rows(
      'select id, aggregate_id as guest, created_at as at, payload from events',
    ) as (Event & { payload: string })[];
    for (const { id, guest, at, payload } of events) {
      const isErased = this.#erasures.some((each) => each.guest === guest && each.at >= at);
      if (isErased && payload !== '{}') this.#break('what is erased stays erased', id);
      if (!isErased && payload === '{}') this.#break('what comes after an erasure is spared', id);
    }
  }

  #checkMirror(): void {
    const shown = new Map(
      this.#homes
        .filter(({ status }) => status === 'listed')
        .map(({ id, slug, name }) => [id, `${name} ${this.#siteUrl()}/listings/${slug}`]),
    );
    const listing = z.object({ name: z.string(), url: z.string() });
    const copied = [...this.#mirror].map(([id, property]): [string, string] => {
      const { name, url } = listing.parse(property);
      return [id, `${name} ${url}`];
    });
    const wrong = copied.filter(([id, text]) => shown.get(id) !== text);
    if (wrong.length > 0 || copied.length !== shown.size) {
      const how = `${JSON.stringify(copied)} in place of ${JSON.stringify([...shown])}`;
      this.#break('a mirror holds the catalogue', how);
    }
  }

  async #backUp(): Promise<void> {
    const lines: string[] = [];
    await this.#programs.dump(this.#open(), 'feed', () => ({ write: (line) => lines.push(line) }));
    this.#files += 1;
    const file = join(this.#folder, `backup-${this.#files}.sql`);
    writeFileSync(file, lines.map((line) => `${line}\n`).join(''));
    this.#backups.push({ file });
    this.#tell(`backup ${this.#files}`);
  }

  /** The database is lost, and a backup is restored into a new one. */
  async #restoreSome(): Promise<void> {
    if (this.#random.chance(0.5)) this.#send();
    if (this.#random.chance(0.5)) await this.#erase();
    await this.#restore(this.#random.pick(this.#backups), 'restores a backup');
  }

  /** The service moves to a database of another name. */
  async #move(): Promise<void> {
    await this.#backUp();
    const last = this.#backups.at(-1);
    if (last) await this.#restore(last, 'moves to a new database');
  }

  /** A restore may be broken off, an erasure may come then, and a restore that succeeded may be run again. */
  async #restore({ file }: Backup, what: string): Promise<void> {
    const target = new Database();
    const failsAt = this.#random.chance(0.5) ? this.#random.between(8, 30) : undefined;
    const isBrokenOff = failsAt !== undefined && !(await this.#fill(target, file, failsAt));
    if (isBrokenOff) await this.#erase();
    await this.#fill(target, file);
    if (this.#random.chance(0.2)) await this.#fill(target, file);
    this.#tell(`${what}${isBrokenOff ? ', broken off in between' : ''}`);
    this.#database = target;
  }

  /** Returns whether the restore came to its end. */
  async #fill(target: Database, file: string, failsAt?: number): Promise<boolean> {
    this.#files += 1;
    const loaded = await this.#programs.loadDump(
      file,
      join(this.#folder, `s-${this.#files}.sqlite`),
    );
    try {
      const options = { ledger: this.#ledger, onBegin: () => undefined };
      await this.#programs.restore(this.#open(target, failsAt), loaded, options);
      return true;
    } catch (error) {
      if (failsAt === undefined) throw error;
      return false;
    } finally {
      loaded.scratch.close();
    }
  }

  #remember(): void {
    this.#states.push(this.#database.state());
    this.#tell(`bookmark ${this.#states.length}`);
  }

  /** Time Travel in place, and then `after-time-travel`. */
  async #travel(): Promise<void> {
    if (this.#random.chance(0.5)) await this.#erase();
    if (this.#random.chance(0.5)) await this.#consume();
    this.#database.setBack(this.#random.pick(this.#states));
    this.#tell('sets the database back');
    await this.#eraseAgain();
    await this.#programs.beginGeneration(this.#open());
    if (this.#random.chance(0.5)) this.#send();
  }

  #tell(text: string): void {
    this.history.push(text);
  }

  #break(promise: string, how: string): void {
    this.violations.push({ promise, how });
  }
}
