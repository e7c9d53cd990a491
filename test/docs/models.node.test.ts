/**
 * Compiles the client of docs/guides/typed-client.md, and makes the guide's schemas for quicktype.
 */

import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { getCodeBlocks } from '../support/markdown.ts';

const GUIDE = 'docs/guides/typed-client.md';
const block = getCodeBlocks(GUIDE, 'bash').find((commands) => commands.includes('quicktype')) ?? '';
const [makeSchemas = ''] = block.split(/^(?=npx )/m);

const folder = mkdtempSync(join(tmpdir(), 'models-'));
copyFileSync('docs/openapi.json', join(folder, 'openapi.json'));
writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');

const run = (script: string) =>
  execFileSync('bash', ['-ec', script], { cwd: folder, encoding: 'utf8' });
const read = (name: string) => readFileSync(join(folder, name), 'utf8');

it('typed-client.ts compiles with the packages listed in the guide', () => {
  const [install = ''] = getCodeBlocks(GUIDE, 'sh');
  for (const name of install.match(/(?<=npm install .*)\S+/g) ?? []) {
    const path = join(folder, 'node_modules', name);
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(resolve('node_modules', name), path);
  }
  copyFileSync('docs/examples/call.ts', join(folder, 'call.ts'));
  const program = readFileSync('docs/examples/typed-client.ts', 'utf8');
  const wrong = `${program.replace("aggregate_type: 'booking',", "aggregate_kind: 'booking',")}
    import type { components } from './api.d.ts';
    type Stored = components['schemas']['StoredEvent'];
    export function usePayload(stored: Stored) {
      switch (stored.type) {
        case 'booking.created':
        case 'booking.updated':
          return typeof stored.payload.guests === 'number' && stored.payload.guests.toFixed();
        case 'booking.cancelled':
          return typeof stored.payload.reason === 'string' && stored.payload.reason.trim();
      }
    }
    export const useUnknownField = ({ payload }: Extract<Stored, { type: 'booking.cancelled' }>) =>
      payload.currency?.toFixed();`;
  writeFileSync(join(folder, 'wrong.ts'), wrong);
  const options =
    '--strict --noEmit --target es2024 --types node --exactOptionalPropertyTypes --noUncheckedIndexedAccess --module nodenext --allowImportingTsExtensions';
  const bin = resolve('node_modules/.bin');
  run(`"${bin}/openapi-typescript" openapi.json --output api.d.ts`);
  // Only the two mistakes are reported: an unknown field of an event, and a field of another event
  // type's payload.
  const errors = run(`"${bin}/tsc" --singleThreaded ${options} wrong.ts || true`);
  expect(errors.match(/error TS.*/g)).toEqual([
    expect.stringContaining("'aggregate_kind' does not exist"),
    expect.stringContaining("Property 'toFixed' does not exist on type 'string | {"),
  ]);
});

it('schemas for quicktype contain no formats, enums or values with several types', () => {
  run(makeSchemas);
  const { definitions } = JSON.parse(read('schemas.json'));
  expect(definitions.PropertyList.properties.data.items.$ref).toBe('#/definitions/Property');
  expect(read('schemas.json')).not.toMatch(/"(format|enum|const)":|"type":\["\w+","\w+","/);
  // quicktype merges the members of a union into one class, and names the class after the common part of
  // their titles.
  const titles = ['BookingCreated', 'BookingUpdated', 'BookingCancelled'].flatMap((name) =>
    [`${name}Request`, `${name}Payload`, `Stored${name}Payload`].map((id) => definitions[id].title),
  );
  expect(titles).toEqual([
    ...['BookingCreated', 'EventPayload', 'StoredEventPayload'],
    ...['BookingUpdated', 'EventPayload', 'StoredEventPayload'],
    ...['BookingCancelled', 'EventPayload', 'StoredEventPayload'],
  ]);
});
