/** Clients that are generated from the document, compiled, and run against the service. */

import { execFile } from 'node:child_process';
import {
  copyFileSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOpenApiDocument } from '../../src/openapi/document.ts';
import type { ProjectCopy } from '../support/node/project-copy.ts';
import type { ServedCopy } from '../support/node/served-copy.ts';
import { copyWithStore } from '../support/node/stores.ts';

const execute = promisify(execFile);
const bin = resolve('node_modules', '.bin');

let project: ProjectCopy;
let service: ServedCopy;

beforeAll(async () => {
  project = await copyWithStore('samples');
  service = await project.serve();
});

afterAll(() => project?.remove());

/** Makes a folder with its own package, and the document. */
function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'typed-client-'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'openapi.json'), JSON.stringify(createOpenApiDocument()));
  return folder;
}

/** Runs a program in a folder. The error of a program that fails shows its output. */
async function run(cwd: string, program: string, args: readonly string[]) {
  const API_KEY = service.vars.get('API_KEY') ?? '';
  const env = { ...process.env, API_URL: service.origin, API_KEY };
  const { stdout } = await execute(program, args, { cwd, env, maxBuffer: 1e8 }).catch(
    (error: { stdout?: string; stderr?: string }) => {
      throw new Error(`${error.stdout}\n${error.stderr}`, { cause: error });
    },
  );
  return stdout.trimEnd();
}

const COMPILER_OPTIONS = [
  ...['--strict', '--singleThreaded', '--noEmit', '--target', 'es2024', '--types', 'node'],
  ...['--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess'],
];

describe('docs/examples/typed-client.ts, with the types that openapi-typescript generates', () => {
  const folder = makeFolder();
  const program = readFileSync('docs/examples/typed-client.ts', 'utf8');

  beforeAll(async () => {
    symlinkSync(realpathSync('node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'client.ts'), program);
    copyFileSync('docs/examples/call.ts', join(folder, 'call.ts'));
    const generator = join(bin, 'openapi-typescript');
    await run(folder, generator, ['openapi.json', '--output', 'api.d.ts']);
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  function compile(name: string) {
    const modules = ['--module', 'nodenext', '--allowImportingTsExtensions'];
    return run(folder, join(bin, 'tsc'), [...COMPILER_OPTIONS, ...modules, name]);
  }

  async function runClient() {
    const output = await run(folder, process.execPath, ['--no-warnings', 'client.ts']);
    return output.split('\n');
  }

  it('compiles under strict rules, knows the payload of an event by its type, and rejects unknown fields', async () => {
    const wrong = `${program.replace("aggregate_type: 'booking',", "aggregate_kind: 'booking',")}
      import type { components } from './api.d.ts';
      type Stored = components['schemas']['StoredEvent'];
      export const known = (stored: Stored) =>
        stored.type === 'booking.created' ? stored.payload.guests?.toFixed() :
        stored.type === 'booking.cancelled' && stored.payload.reason?.trim();
      export const unknown = ({ payload }: Extract<Stored, { type: 'booking.cancelled' }>) =>
        payload.reason?.toFixed();`;
    writeFileSync(join(folder, 'wrong.ts'), wrong);
    const errors = await compile('wrong.ts').catch(({ message }: Error) => message);
    expect(errors.match(/error TS.*/g)).toEqual([
      expect.stringContaining("'aggregate_kind' does not exist"),
      expect.stringContaining("Property 'toFixed' does not exist on type 'string'"),
    ]);
  });

  it('reads all pages and has its event accepted, then repeated', async () => {
    const first = await runClient();
    const homes = first.slice(0, -1).map((line) => line.split(' ')[1]);
    expect(new Set(homes).size).toBe(homes.length);
    expect(homes.length).toBeGreaterThan(40);
    expect(first.at(-1)).toMatch(/^pending [0-9a-f-]{36}$/);

    const second = await runClient();
    expect(second.slice(0, -1)).toEqual(first.slice(0, -1));
    expect(second.at(-1)).toBe(first.at(-1)?.replace('pending', 'idempotent'));
  });
});

const isFull = process.env.FULL === '1';
if (!isFull) console.warn('The client of @hey-api/openapi-ts is tried with FULL=1 only.');

const HEY_API_PROGRAM = `
import { getProperty, ingestEvent, listEvents, listProperties } from './generated';
import { client } from './generated/client.gen';

client.setConfig({ baseUrl: process.env.API_URL!, headers: { 'x-api-key': process.env.API_KEY } });

async function ingest() {
  const headers = { 'Idempotency-Key': 'hey-api' };
  const body = {
    event_type: 'booking.created' as const,
    aggregate_id: 'bk_clients',
    aggregate_type: 'booking',
    payload: { check_in: '2027-06-01', check_out: '2027-06-08', guests: 2, note: 'kept as sent' },
  };
  return (await ingestEvent({ body, headers })).data?.status;
}

const list = await listProperties({ query: { status: ['sold_out', 'coming_soon'], limit: 100 } });
const item = await getProperty({ path: { slugOrId: 'casa-ginebrera' } });
const sent = [await ingest(), await ingest()];
const event = (await listEvents({ query: { limit: 1 } })).data?.data[0];
const guests = event?.type === 'booking.created' ? event.payload.guests : undefined;
const statuses = [...new Set(list.data?.data.map(({ status }) => status))].sort();
console.log(JSON.stringify({ statuses, item: item.data?.slug, sent, guests }));
`;

describe.skipIf(!isFull)('a client that @hey-api/openapi-ts generates', () => {
  it('compiles, and lists, finds, sends, retries and reads back', async () => {
    const folder = makeFolder();
    try {
      // The generator needs the compiler of TypeScript 6.
      const packages = ['@hey-api/openapi-ts@0.99.0', 'typescript@6.0.3', '@types/node@24.19.2'];
      await run(folder, 'npm', ['install', '--ignore-scripts', '--no-package-lock', ...packages]);
      const args = ['--input', 'openapi.json', '--output', 'generated'];
      const generator = join(folder, 'node_modules', '.bin', 'openapi-ts');
      await run(folder, generator, [...args, '--client', '@hey-api/client-fetch']);
      writeFileSync(join(folder, 'program.ts'), HEY_API_PROGRAM);
      const modules = ['--module', 'esnext', '--moduleResolution', 'bundler', '--skipLibCheck'];
      const options = [...COMPILER_OPTIONS.slice(0, -2), '--noUncheckedIndexedAccess', ...modules];
      await run(folder, join(bin, 'tsc'), [...options, '--lib', 'es2024,dom', 'program.ts']);
      const bundled = ['--bundle', '--format=esm', '--platform=node', '--outfile=program.js'];
      await run(folder, join(bin, 'esbuild'), ['program.ts', ...bundled]);
      expect(JSON.parse(await run(folder, process.execPath, ['program.js']))).toEqual({
        statuses: ['coming_soon', 'sold_out'],
        item: 'casa-ginebrera',
        sent: ['pending', 'idempotent'],
        guests: 2,
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  }, 600_000);
});
