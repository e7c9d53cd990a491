/** The clients and models that generators make by the commands of docs/guides/typed-client.md. */

import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { copyWithStore } from '../support/node/stores.ts';
import { codeBlocksOf } from './markdown.ts';

const GUIDE = 'docs/guides/typed-client.md';
const block = codeBlocksOf(GUIDE, 'bash').find((each) => each.includes('quicktype')) ?? '';
const [makeSchemas = '', ...generators] = block.split(/^(?=npx )/m);
const DECODED = {
  PropertyList: '/api/v1/web/properties?limit=100',
  PropertyCardList: '/api/v1/web/property-cards?limit=100&locale=es',
  PropertyChangeList: '/api/v1/web/property-changes?limit=100',
  LocationList: '/api/v1/web/locations?limit=100',
  EventList: '/api/v1/events?limit=100',
};

const folder = mkdtempSync(join(tmpdir(), 'models-'));
copyFileSync('docs/openapi.json', join(folder, 'openapi.json'));
writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
afterAll(() => rmSync(folder, { recursive: true }));

const run = (script: string) =>
  execFileSync('bash', ['-ec', script], { cwd: folder, encoding: 'utf8' });
const read = (name: string) => readFileSync(join(folder, name), 'utf8');

it('typed-client.ts compiles beside the packages of the guide, knows the payload of an event by its type, and rejects unknown fields', () => {
  const [install = ''] = codeBlocksOf(GUIDE, 'sh');
  for (const name of install.match(/(?<=npm install .*)\S+/g) ?? []) {
    const place = join(folder, 'node_modules', name);
    mkdirSync(dirname(place), { recursive: true });
    symlinkSync(resolve('node_modules', name), place);
  }
  copyFileSync('docs/examples/call.ts', join(folder, 'call.ts'));
  const program = readFileSync('docs/examples/typed-client.ts', 'utf8');
  const wrong = `${program.replace("aggregate_type: 'booking',", "aggregate_kind: 'booking',")}
    import type { components } from './api.d.ts';
    type Stored = components['schemas']['StoredEvent'];
    export const known = (stored: Stored) =>
      stored.type === 'booking.created' ? stored.payload.guests?.toFixed() :
      stored.type === 'booking.cancelled' && stored.payload.reason?.trim();
    export const unknown = ({ payload }: Extract<Stored, { type: 'booking.cancelled' }>) =>
      payload.reason?.toFixed();`;
  writeFileSync(join(folder, 'wrong.ts'), wrong);
  const options =
    '--strict --noEmit --target es2024 --types node --exactOptionalPropertyTypes --noUncheckedIndexedAccess --module nodenext --allowImportingTsExtensions';
  const bin = resolve('node_modules/.bin');
  run(`${bin}/openapi-typescript openapi.json --output api.d.ts`);
  // The program is wrong at two places.
  const errors = run(`${bin}/tsc --singleThreaded ${options} wrong.ts || true`);
  expect(errors.match(/error TS.*/g)).toEqual([
    expect.stringContaining("'aggregate_kind' does not exist"),
    expect.stringContaining("Property 'toFixed' does not exist on type 'string'"),
  ]);
});

it('the schemas have no format and no closed set of values', () => {
  run(makeSchemas);
  const { definitions } = JSON.parse(read('schemas.json'));
  expect(definitions.PropertyList.properties.data.items.$ref).toBe('#/definitions/Property');
  expect(read('schemas.json')).not.toMatch(/"(format|enum|const)":/);
  // quicktype merges the members of a union, and names the class after what their titles share.
  const titles = ['BookingCreated', 'BookingCancelled'].flatMap((name) =>
    [`${name}Request`, `${name}Payload`, `Stored${name}Payload`].map((id) => definitions[id].title),
  );
  expect(titles).toEqual([
    ...['BookingCreated', 'EventPayload', 'StoredEventPayload'],
    ...['BookingCancelled', 'EventPayload', 'StoredEventPayload'],
  ]);
});

// It installs quicktype.
it.skipIf(process.env.FULL !== '1')(
  'its models have texts for dates and enums, and decode the samples',
  async () => {
    run(makeSchemas);
    const [first = ''] = generators;
    const others = ['python -o api.py', 'typescript -o api.ts'].map((language) =>
      first.replace(/--lang .*/, `--lang ${language}`),
    );
    for (const generator of [...generators, ...others]) {
      run(generator.replace('npx ', 'npx --yes '));
    }
    expect(read('Api.kt')).not.toMatch(/OffsetDateTime|LocalDate|UUID|enum class/);
    expect(read('Api.swift')).not.toMatch(/: (Date|UUID)\b|: String, Codable|BookingCed/);
    const project = await copyWithStore('samples');
    const service = await project.serve();
    const headers = { 'x-api-key': service.vars.get('API_KEY') ?? '' };
    for (const [name, path] of Object.entries(DECODED)) {
      writeFileSync(
        join(folder, `${name}.json`),
        await (await fetch(`${service.origin}${path}`, { headers })).text(),
      );
    }
    const snake = (name: string) => name.replace(/(?<!^)[A-Z]/g, '_$&').toLowerCase();
    const lines = Object.keys(DECODED).map(
      (name) => `print(len(api.${snake(name)}_from_dict(json.load(open("${name}.json"))).data))`,
    );
    writeFileSync(join(folder, 'decode.py'), ['import json, api', ...lines].join('\n'));
    const decoders = Object.keys(DECODED).map(
      (name) =>
        `console.log(Convert.to${name}(fs.readFileSync('${name}.json', 'utf8')).data.length);`,
    );
    const head = "import fs from 'node:fs';\nimport { Convert } from './api.ts';\n";
    writeFileSync(join(folder, 'decode.mjs'), head + decoders.join('\n'));
    const counts = run('python3 decode.py');
    expect(counts).toMatch(/^([1-9]\d*\n){4}\d+\n$/);
    expect(run(`${process.execPath} --no-warnings decode.mjs`)).toBe(counts);
    await project.remove();
  },
);
