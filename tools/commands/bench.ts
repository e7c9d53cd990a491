/**
 * `npm run bench`: measures how many requests per second the production bundle handles with small
 * and large tables. A minimal Worker is measured for comparison. docs/explain/performance.md
 * contains the results.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { EXAMPLES } from '../../src/events/openapi/examples.ts';
import { type Command, declare, readArguments, runCommand } from '../command-line/command.ts';
import { migrate } from '../database/migrations.ts';
import { importListings } from '../import/import.ts';
import { readListingsFile } from '../import/read/json.ts';
import { buildBundle, type Runtime, startRuntime } from '../workerd/runtime.ts';

const PUBLIC_SITE_URL = 'https://www.example.com';
const API_KEY = 'benchmark-key-of-the-day';
/**
 * Number of requests per client address. Connections then change their address to avoid the rate
 * limit.
 */
const REQUESTS_PER_CLIENT = 10;

const MINIMAL_WORKER = `import { DurableObject } from 'cloudflare:workers';
export class RateCounter extends DurableObject {}
export default { fetch: () => new Response('{}') };`;

type Call = { path: string; key?: string; body?: string };

const body = JSON.stringify(EXAMPLES.body);
const ingest = (key = ''): Call => ({ path: '/api/public/events/ingest', key, body });
const read = (path: string) => (): Call => ({ path: `/api/v1${path}` });

/** The measured requests. `fresh=true` bypasses the caches. */
const REQUESTS = {
  'page of 25, hot': read('/web/properties'),
  'page of 25, cold': read('/web/properties?fresh=true'),
  'listing, hot': read('/web/properties/home-150'),
  'listing, cold': read('/web/properties/home-150?fresh=true'),
  'ingest, no key': () => ingest(),
  'ingest, fresh keys': () => ingest(crypto.randomUUID()),
  replay: () => ingest('replayed'),
  'page of events': read('/events'),
};

/** Clones the sample listings. The clones have no source, so they can only be read. */
const LISTINGS = `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
  INSERT INTO properties
  (id, slug, status, type, location_id, display_order, source, card, document, rendering)
  SELECT printf('00000000-0000-4000-8000-%012x', i), 'home-' || i, status, type, location_id,
    10000 + i, '{}', json_set(card, '$.id', printf('00000000-0000-4000-8000-%012x', i)),
    json_set(document, '$.id', printf('00000000-0000-4000-8000-%012x', i),
      '$.display_order', 10000 + i), rendering
  FROM n JOIN properties AS p ON p.rowid = 1 + i % ?2`;
const EVENTS = `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
  INSERT INTO events
  (id, key_id, fingerprint, receipt, type, aggregate_type, aggregate_id, payload, created_at)
  SELECT printf('00000000-0000-4000-8000-%012x', i), 'key-' || i, printf('%064d', i),
    printf('%036d', i), 'booking.created', 'booking', 'filler-' || (i % 100000), '{"guests":2}', i
  FROM n`;

const program = declare('bench')
  .description(`Measure requests per second on this machine: of the production bundle with 200 listings and 4,000 events, of the
same bundle with 20,000 listings and 400,000 events, and of a minimal Worker.

Changes: writes bundles to dist/bench.
Exit codes: 0 the table is printed, 1 a request failed, 2 invalid arguments.
Example: npm run bench`)
  .option(
    '--quick',
    'use one request per connection and small tables, to check that the command runs',
  );

export const command: Command<boolean> = {
  program,
  parse: (args) => readArguments(program, args).values.quick ?? false,
  async run(isQuick) {
    const script = await buildBundle('src/index.ts', 'dist/bench/production');
    writeFileSync('dist/bench/least.js', MINIMAL_WORKER);
    const small = await start(script, 200);
    const services = [
      small,
      isQuick ? small : await start(script, 20_000),
      await startRuntime('dist/bench/least.js', {}),
    ];
    console.log('| requests per second | small | large | least |');
    for (const [name, call] of Object.entries(REQUESTS)) {
      const rates = services.map((): number[] => []);
      // Every round measures all services, so that other work on the machine affects them equally.
      for (let round = 0; round < (isQuick ? 1 : 5); round += 1) {
        for (const [index, { url }] of services.entries()) {
          rates[index]?.push(await measure(url, call, isQuick ? 0 : 1_000));
        }
      }
      const medians = rates.map((values) => values.sort((a, b) => a - b)[values.length >> 1]);
      console.log(`| ${[name, ...medians.map((rate) => rate?.toFixed(0))].join(' | ')} |`);
    }
    await Promise.all([...new Set(services)].map(({ stop }) => stop()));
    return 0;
  },
};

/** Starts the service with the sample listings, clones of them, and twenty events per listing. */
async function start(script: string, listings: number): Promise<Runtime> {
  const runtime = await startRuntime(script, { PUBLIC_SITE_URL, API_KEY });
  const { database } = runtime;
  await migrate(database);
  const samples = readListingsFile(readFileSync('tools/samples/listings.json'));
  const options = { database, publicSiteUrl: PUBLIC_SITE_URL, isDryRun: false, onProgress() {} };
  await importListings(samples, options);
  await database.prepare(LISTINGS).bind(listings, samples.properties.length).run();
  await database
    .prepare(EVENTS)
    .bind(20 * listings)
    .run();
  return runtime;
}

let clients = 0;

/** Measures requests per second over 16 connections. */
async function measure(url: URL, call: () => Call, ms: number): Promise<number> {
  const startedAt = performance.now();
  let responses = 0;
  const connect = async () => {
    let address = '';
    for (let sent = 0; sent === 0 || performance.now() < startedAt + ms; sent += 1) {
      if (sent % REQUESTS_PER_CLIENT === 0) {
        clients += 1;
        address = `10.${clients >> 16}.${(clients >> 8) & 255}.${clients & 255}`;
      }
      await send(url.origin, call(), address);
      responses += 1;
    }
  };
  await Promise.all(Array.from({ length: 16 }, connect));
  return (responses * 1_000) / (performance.now() - startedAt);
}

async function send(origin: string, { path, key, body }: Call, address: string): Promise<void> {
  const keys = { 'x-api-key': API_KEY, ...(key && { 'Idempotency-Key': key }) };
  const headers = { ...keys, 'CF-Connecting-IP': address, 'Content-Type': 'application/json' };
  const response = await fetch(
    origin + path,
    body ? { method: 'POST', headers, body } : { headers },
  );
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
}

if (import.meta.main) await runCommand(command);
