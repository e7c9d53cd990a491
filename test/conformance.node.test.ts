/** test/conformance.md names test files that exist, and all of those of the service. */

import { existsSync, globSync } from 'node:fs';
import { expect, it } from 'vitest';
import { CONFORMANCE, getCodes, getTable } from './support/markdown.ts';

const { rows } = getTable(CONFORMANCE, 'section');
const named = new Set(rows.flatMap(([, , tests = '']) => getCodes(tests)));
const SERVICE = '{*,{auth,events,health,http,properties,rate-limit,schema,storage}/*}.test.ts';
/** They are about the source. */
const OF_THE_PROJECT = /^(architecture|checks|conformance|patterns)\./;

it('names files that exist, in each row', () => {
  expect(rows.filter(([, , tests = '']) => getCodes(tests).length === 0)).toEqual([]);
  expect([...named].filter((name) => !existsSync(`test/${name}`))).toEqual([]);
});

it('names every test file of the service', () => {
  const files = globSync(SERVICE, { cwd: 'test' }).filter((name) => !OF_THE_PROJECT.test(name));
  expect(files.length).toBeGreaterThan(30);
  expect(files.filter((name) => !named.has(name))).toEqual([]);
});
