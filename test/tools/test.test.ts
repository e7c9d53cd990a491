/** `npm test -- FILE...` */

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

/** Runs `npm test -- FILE...` as a user does in `folder`. */
function npmTest(folder: string, ...files: string[]) {
  const env = {
    ...process.env,
    npm_lifecycle_event: 'test',
    INIT_CWD: join(process.cwd(), folder),
  };
  const run = spawnSync(process.execPath, ['tools/test.ts', ...files], { encoding: 'utf8', env });
  return { pid: run.pid, status: run.status, stdout: run.stdout };
}

it("npm test -- FILE runs that file and the files of that folder only, by their paths in the user's directory, and counts their tests", () => {
  const { pid, status, stdout } = npmTest('test/tools', 'development/port.test.ts', 'cloudflare');
  expect({ status, stdout }).toMatchObject({ status: 0 });
  expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^[1-9]\d* passed, 0 failed$/);
  expect(new Set(stdout.match(/test\/[\w/-]+\.test\.ts/g))).toEqual(
    new Set(['test/tools/cloudflare/placeholders.test.ts', 'test/tools/development/port.test.ts']),
  );
  expect(stdout).not.toContain('format and lint');
  // It leaves none of its files behind.
  const left = ['/dev/shm', tmpdir()].filter(existsSync).flatMap((name) => readdirSync(name));
  expect(left.filter((name) => name.startsWith(`npm-test-${pid}-`))).toEqual([]);
});
