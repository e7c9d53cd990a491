/** `npm test -- FILE...`, run as a program. */

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** Runs `npm test -- FILE...` as a user does in `folder`. */
function npmTest(folder: string, ...files: string[]) {
  const env = {
    ...process.env,
    npm_lifecycle_event: 'test',
    INIT_CWD: join(process.cwd(), folder),
  };
  const run = spawnSync(process.execPath, ['tools/test.ts', ...files], { encoding: 'utf8', env });
  return { status: run.status, stdout: run.stdout, stderr: run.stderr };
}

describe('npm test -- FILE', () => {
  it("runs that file only, by its path in the user's directory, and counts its tests", () => {
    const { status, stdout } = npmTest('test/tools', 'erasure/ledger.test.ts');
    expect(status).toBe(0);
    expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^[1-9]\d* passed, 0 failed$/);
    expect(stdout).not.toContain('format and lint');
    // It leaves none of its files behind.
    const [, scratch = ''] = /written to (.*)\/report\.json/.exec(stdout) ?? [];
    expect(scratch).toContain('npm-test-');
    expect(existsSync(scratch)).toBe(false);
  });

  it('runs the files of a folder', () => {
    const { status, stdout } = npmTest('.', 'test/tools/cloudflare');
    expect({ status, stdout }).toMatchObject({ status: 0 });
    expect(stdout).toContain('cloudflare/placeholders.test.ts');
    expect(stdout).not.toContain('api-key.test.ts');
  });

  it.each(['no-such.test.ts', 'no-such-folder', '../package.json'])('refuses %s', (file) => {
    const { status, stdout, stderr } = npmTest('test', 'architecture.test.ts', file);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(`There is no test file ${file}. Nothing was done.\n\nUsage: npm test`);
  });
});
