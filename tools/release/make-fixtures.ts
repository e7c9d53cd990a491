/**
 * Makes test/releases/VERSION: what a user of a release has in hand. Run it once per release, on a
 * clean checkout of its commit, which has its node_modules:
 *
 *     node tools/release/make-fixtures.ts [CHECKOUT]
 *
 * It uses the commands and the HTTP interface of the release, and reads the stores that its Worker
 * has filled.
 */

import { execFileSync } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { deserialize } from 'node:v8';
import { brotliCompressSync, constants } from 'node:zlib';
import { convertV4MiniflareOptions, Miniflare } from 'miniflare';

const API_KEY = 'release-key-0123456789';
const FEED = '/api/v1/web/properties';
const PATCH = 'patch.json';
const STATE = '.wrangler/state/v3';
/** Of the counters whose storage and messages are kept. */
const CLIENT = '203.0.113.7';
/** A counter that keeps the messages of the method `count`, and grants each place. */
const RECORDER = `import { DurableObject } from 'cloudflare:workers';
const calls = [];
export class RateCounter extends DurableObject {
  count(...call) {
    calls.push(call);
    const [, , { count, beganAt }] = call;
    return { isGranted: true, own: count, others: 0, beganAt };
  }
}
export default { fetch: () => Response.json(calls) };`;

const checkout = resolve(process.argv[2] ?? '.');
const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'));
const out = resolve('test/releases', version);
const scratch = mkdtempSync(join(tmpdir(), 'release-'));
const project = join(scratch, 'project');

try {
  mkdirSync(out, { recursive: true });
  const isTracked = (path: string) => !/\/(\.git|\.wrangler|backups|\.dev\..*)$/.test(path);
  cpSync(checkout, project, { recursive: true, filter: isTracked, verbatimSymlinks: true });
  await make();
} finally {
  rmSync(scratch, { recursive: true });
}

async function make(): Promise<void> {
  const archive = ['archive', '--format=tar', 'HEAD', 'src', 'tools', 'package.json'];
  const maxBuffer = 100_000_000;
  save('project.tar', execFileSync('git', archive, { cwd: checkout, maxBuffer }));
  run('import-listings', 'tools/samples/listings.json', '--no-undo');
  const script = bundle();
  save('worker.js', readFileSync(script));

  const key = run('api-key', '--name', 'site', '--scope', 'feed:read,events:read');
  const first = await serve(script);
  const events = await postEvents(first);
  const counter = await fillCounter(first);
  const kv = await readKv(first, events.held.response.id);
  await first.miniflare.dispose();

  const undo = writePatch();
  run('import-listings', PATCH, '--patch', '--undo', 'undo.json');
  const erased = ['--aggregate-type', 'booking', '--aggregate-id', 'bk_erased'];
  run('erase-events', ...erased, '--ledger', 'erasures.jsonl');

  const second = await serve(script);
  const cursors = await takeCursors(second);
  await second.miniflare.dispose();
  const edge = readEdge();

  run('backup', '--out', 'backup.sql');
  run('export-listings', '--out', 'listings.json');
  for (const name of ['backup.sql', 'listings.json', 'undo.json']) {
    save(name, readFileSync(join(project, name)));
  }
  cpSync(join(project, 'erasures.jsonl'), join(out, 'erasures.jsonl'));
  const messages = await recordMessages(script);
  const fixtures = { version, madeAt: Date.now(), key, events, cursors, kv, edge, undo };
  const text = JSON.stringify({ ...fixtures, counter: { ...counter, messages } }, null, 2);
  writeFileSync(join(out, 'fixtures.json'), `${text}\n`);
}

/** Compressed by Brotli, as `NAME.br`. */
function save(name: string, content: Buffer): void {
  const params = { [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
  writeFileSync(join(out, `${name}.br`), brotliCompressSync(content, { params }));
}

/** Runs a command of the release in its copy. Returns what it prints. */
function run(command: string, ...args: string[]): string {
  const options = { cwd: project, encoding: 'utf8' } as const;
  return execFileSync(process.execPath, [`tools/${command}.ts`, ...args], options);
}

function bundle(): string {
  const wrangler = join(project, 'node_modules/wrangler/bin/wrangler.js');
  const args = ['deploy', 'src/index.ts', '--dry-run', '--outdir', 'bundle', '--env='];
  execFileSync(process.execPath, [wrangler, ...args], { cwd: project, stdio: 'ignore' });
  return join(project, 'bundle/index.js');
}

type Served = { origin: string; miniflare: Miniflare };

/** Serves the bundle over the local stores of the copy, or with the recorder as its counter. */
async function serve(script: string, isRecorded = false): Promise<Served> {
  const config = readFileSync(join(project, 'wrangler.toml'), 'utf8');
  const [, vars = ''] = /^\[vars\]\n([^[]*)/m.exec(config) ?? [];
  const defaults = [...vars.matchAll(/^(\w+) = "(.*)"$/gm)].map(([, name = '', value]) => [
    name,
    value,
  ]);
  const RATE_COUNTER = isRecorded
    ? { className: 'RateCounter', scriptName: 'recorder' }
    : { className: 'RateCounter', useSQLite: true };
  const recorder = {
    name: 'recorder',
    modules: [{ type: 'ESModule' as const, path: 'recorder.js', contents: RECORDER }],
    durableObjects: { RATE_COUNTER: { className: 'RateCounter', useSQLite: true } },
    unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }],
  };
  const worker = {
    name: 'worker',
    modulesRoot: dirname(script),
    modules: [{ type: 'ESModule' as const, path: script }],
    bindings: { ...Object.fromEntries(defaults), API_KEY },
    d1Databases: ['DB'],
    kvNamespaces: ['IDEMPOTENCY'],
    durableObjects: { RATE_COUNTER },
    unsafeDirectSockets: [{ host: '127.0.0.1', port: 0 }],
  };
  const [, compatibilityDate = ''] = /^compatibility_date = "(.*)"$/m.exec(config) ?? [];
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      workers: [worker, recorder].map((each) => ({ ...each, compatibilityDate })),
      resourcePersistencePath: join(project, STATE),
      handleStructuredLogs() {},
    }),
  );
  await miniflare.ready;
  const { origin } = await miniflare.unsafeGetDirectURL('worker');
  return { origin, miniflare };
}

async function request<Body>(
  { origin }: Served,
  path: string,
  init: RequestInit = {},
  client = '203.0.113.1',
): Promise<Body> {
  const own = { 'x-api-key': API_KEY, 'Content-Type': 'application/json' };
  const headers = { ...own, 'CF-Connecting-IP': client, ...init.headers };
  const response = await fetch(`${origin}${path}`, { ...init, headers });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return response.json() as Promise<Body>;
}

/** Five events with keys, a batch and an event without a key. `held` is one of them as it was sent. */
async function postEvents(served: Served) {
  const post = (body: object, key?: string) =>
    request<{ id: string }>(served, '/api/public/events/ingest', {
      method: 'POST',
      body: JSON.stringify(body),
      headers: key === undefined ? {} : { 'Idempotency-Key': key },
    });
  const bodyOf = (aggregate_id: string, guests: number) => ({
    event_type: 'booking.created',
    aggregate_type: 'booking',
    aggregate_id,
    payload: { guests, check_in: '2027-06-01', check_out: '2027-06-08' },
  });
  const held = { key: 'bk_1001-created', body: bodyOf('bk_1001', 2) };
  const response = await post(held.body, held.key);
  for (const guests of [1, 2, 3]) await post(bodyOf('bk_1002', guests), `bk_1002-${guests}`);
  await post(bodyOf('bk_erased', 4), 'bk_erased-created');
  await post(bodyOf('bk_1003', 5));
  const batch = [6, 7].map((guests) => ({
    idempotency_key: `bk_1004-${guests}`,
    ...bodyOf('bk_1004', guests),
  }));
  await request(served, '/api/public/events/ingest/batch', {
    method: 'POST',
    body: JSON.stringify({ events: batch }),
  });
  return { held: { ...held, response } };
}

/** A window of a client that has sent 40 requests, as it is stored. */
async function fillCounter(served: Served) {
  for (let sent = 0; sent < 40; sent += 1) await request(served, '/api/health', {}, CLIENT);
  await new Promise((done) => setTimeout(done, 500));
  const files = globSync(join(project, STATE, 'do/*/*.sqlite')).filter((path) =>
    /^[0-9a-f]{64}\.sqlite$/.test(basename(path)),
  );
  const stored = files.flatMap((file) => {
    using sqlite = new DatabaseSync(file, { readOnly: true });
    const rows = sqlite.prepare('SELECT key, value FROM _cf_KV').all();
    return rows.map(({ key, value }) => [
      String(key),
      deserialize(Buffer.from(value as Uint8Array)),
    ]);
  });
  return { stored: Object.fromEntries(stored.map(([key, value]) => [key, toJson(value)])) };
}

/** A map becomes a list of its entries. */
function toJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (_, each) => (each instanceof Map ? [...each] : each)));
}

/** The calls of the counter, as the Worker makes them. */
async function recordMessages(script: string) {
  const served = await serve(script, true);
  for (let sent = 0; sent < 10; sent += 1) await request(served, '/api/health', {}, CLIENT);
  await new Promise((done) => setTimeout(done, 500));
  const recorder = await served.miniflare.unsafeGetDirectURL('recorder');
  const messages = await (await fetch(recorder)).json();
  await served.miniflare.dispose();
  return messages;
}

async function readKv({ miniflare }: Served, key: string) {
  await new Promise((done) => setTimeout(done, 500));
  const namespace = await miniflare.getKVNamespace('IDEMPOTENCY', 'worker');
  return { key, value: await namespace.get(key) };
}

/** The cursors of each list at a known place: `next` are the ids that follow it. */
async function takeCursors(served: Served) {
  const lists = [
    { path: '/api/v1/events?order=asc&limit=2', cursor: 'next_cursor', param: 'cursor' },
    { path: '/api/v1/events?order=asc&limit=100', cursor: 'resume_cursor', param: 'cursor' },
    { path: '/api/v1/events?limit=3', cursor: 'next_cursor', param: 'cursor' },
    {
      path: '/api/v1/events?limit=4',
      cursor: 'resume_cursor',
      param: 'cursor',
      // It leads forward.
      following: '/api/v1/events?order=asc&limit=4',
    },
    {
      path: '/api/v1/events?order=asc&limit=1&type=booking.created&aggregate_id=bk_1002',
      cursor: 'next_cursor',
      param: 'cursor',
    },
    { path: `${FEED}?limit=10`, cursor: 'next_cursor', param: 'cursor' },
    { path: `${FEED}?limit=5&type=beach`, cursor: 'next_cursor', param: 'cursor' },
    { path: '/api/v1/web/property-cards?limit=10', cursor: 'next_cursor', param: 'cursor' },
    { path: '/api/v1/web/locations?limit=2', cursor: 'next_cursor', param: 'cursor' },
    { path: '/api/v1/web/property-changes?limit=10', cursor: 'next_cursor', param: 'after' },
    { path: '/api/v1/web/property-changes?limit=100', cursor: 'resume_cursor', param: 'after' },
  ];
  return Promise.all(
    lists.map(async ({ path, cursor: name, param, following = path }) => {
      const page = await request<Record<string, string>>(served, path);
      const cursor = page[name];
      const { data } = await request<{ data: { id: string }[] }>(
        served,
        `${following}&${param}=${cursor}`,
      );
      return { path: following, param, cursor, next: data.map(({ id }) => id) };
    }),
  );
}

/** The entries of the edge cache. */
function readEdge() {
  const [file = ''] = globSync(join(project, STATE, 'cache/*/*.sqlite')).filter((path) =>
    /^[0-9a-f]{64}\.sqlite$/.test(basename(path)),
  );
  using sqlite = new DatabaseSync(file, { readOnly: true });
  const rows = sqlite.prepare('SELECT key, metadata FROM _mf_entries LIMIT 2').all();
  return rows.map(({ key, metadata }) => ({ url: key, ...JSON.parse(String(metadata)) }));
}

/** Writes a patch that renames a listing. */
function writePatch() {
  const { properties } = JSON.parse(
    readFileSync(join(project, 'tools/samples/listings.json'), 'utf8'),
  );
  const [{ slug, name }] = properties;
  const after = 'A changed name';
  const changed = { properties: [{ slug, name: after }] };
  writeFileSync(join(project, PATCH), JSON.stringify(changed));
  return { slug, before: name, after };
}
