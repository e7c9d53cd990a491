/** Checks that test/conformance.md names every test file of the service, and only existing files. */

import { existsSync, globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CONFORMANCE, getCodes, getTable } from './support/markdown.ts';

const { rows } = getTable(CONFORMANCE, 'section');
const namedFiles = new Set(rows.flatMap(([, , tests = '']) => getCodes(tests)));
const SERVICE = '{*,{auth,events,health,http,properties,rate-limit,schema,storage}/*}.test.ts';
/** Matches the tests that check the source code instead of the service. */
const SOURCE_TESTS = /^(architecture|checks|conformance|patterns)\./;

describe('test/conformance.md', () => {
  it('names existing test files in every row', () => {
    expect(rows.filter(([, , tests = '']) => getCodes(tests).length === 0)).toEqual([]);
    expect([...namedFiles].filter((name) => !existsSync(`test/${name}`))).toEqual([]);
  });

  it('names every test file of the service', () => {
    const files = globSync(SERVICE, { cwd: 'test' }).filter((name) => !SOURCE_TESTS.test(name));
    expect(files.length).toBeGreaterThan(30);
    expect(files.filter((name) => !namedFiles.has(name))).toEqual([]);
  });
});
