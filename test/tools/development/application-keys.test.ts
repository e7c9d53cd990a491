/** The keys that `dev` makes for the applications. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { developmentKeys } from '../../../src/auth/api-key.ts';
import {
  applicationKeyLines,
  ensureApplicationKeys,
} from '../../../tools/development/application-keys.ts';
import { parseDevVars } from '../../../tools/development/dev-vars.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'application-keys-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const write = (text: string) => writeFileSync(join(directory, '.dev.vars'), text);
const read = () => readFileSync(join(directory, '.dev.vars'), 'utf8');

it('are made once, in a form that the service reads', () => {
  write('ENVIRONMENT=development');
  expect(ensureApplicationKeys(directory)).toBe(true);
  const made = read();
  expect(made).toMatch(/^ENVIRONMENT=development\nDEV_API_KEYS=/);
  const keys = developmentKeys.parse(parseDevVars(made).get('DEV_API_KEYS'));
  expect(keys).toEqual([
    {
      name: 'marketing-site',
      scopes: ['feed:read'],
      key: expect.stringMatching(/^dev_marketing-site_[0-9a-f]{32}$/),
    },
    {
      name: 'booking-system',
      scopes: ['events:write', 'events:read'],
      key: expect.stringMatching(/^dev_booking-system_[0-9a-f]{32}$/),
    },
  ]);
  expect(ensureApplicationKeys(directory)).toBe(false);
  expect(read()).toBe(made);
  expect(applicationKeyLines(parseDevVars(made))).toEqual(
    keys.map(({ name, scopes, key }) => `${name} (${scopes.join(', ')}): ${key}`),
  );
});

it.each(['API_KEY=a\n', 'ENVIRONMENT=production\n', 'ENVIRONMENT=development\nDEV_API_KEYS=\n'])(
  'are not made where .dev.vars says %j',
  (text) => {
    write(text);
    expect(ensureApplicationKeys(directory)).toBe(false);
    expect(read()).toBe(text);
    expect(applicationKeyLines(parseDevVars(text))).toEqual([]);
  },
);
