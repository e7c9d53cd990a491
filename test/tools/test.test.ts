/** `npm test -- FILE...` */

import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';

/** Vitest finds tests inside the project only. Git ignores this folder. */
const FOLDER = 'test/dist';
const RED = `
import { expect, it } from 'vitest';
it.skip('waits', () => {});
it('is red', () => expect(1).toBe(2));`;

afterAll(() => rmSync(FOLDER, { recursive: true }));

it('npm test -- FILE runs these files and folders only, shows why one failed, and counts', () => {
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, 'red.node.test.ts'), RED);
  const INIT_CWD = join(process.cwd(), 'test/tools');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['tools/test.ts', 'development/port.test.ts', 'bench', '../dist'],
    {
      encoding: 'utf8',
      env: { ...process.env, FULL: '', npm_lifecycle_event: 'test', INIT_CWD },
    },
  );
  const lines = stdout.trimEnd().split('\n');
  expect({ status, stderr, last: lines.at(-1) }).toEqual({
    status: 1,
    stderr: expect.stringContaining('expected 1 to be 2'),
    last: expect.stringMatching(/^[1-9]\d* passed, 1 failed, 1 skipped$/),
  });
  expect(lines).toContainEqual(expect.stringMatching(/^Skipped tests need: .*FULL=1/));
  expect(new Set(stdout.match(/ test\/[\w/.-]+\.test\.ts/g)).size).toBe(3);
  expect(stdout).not.toContain('format and lint');
  // It leaves none of its files behind.
  const left = readdirSync(process.env.TMPDIR ?? '/tmp');
  expect(left.filter((name) => name.startsWith('npm-test-'))).toEqual([]);
});
