/** `npm test -- FILE...` */

import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';

it('npm test -- FILE runs these files and folders only, prints a line for each file, says why tests are skipped, and counts', () => {
  const env = { ...process.env, FULL: '', NO_COLOR: undefined, npm_lifecycle_event: 'test' };
  const { pid, status, stdout } = spawnSync(
    process.execPath,
    ['tools/test.ts', 'development/port.test.ts', 'cloudflare', 'runbook.test.ts'],
    { encoding: 'utf8', env: { ...env, INIT_CWD: join(process.cwd(), 'test/tools') } },
  );
  expect({ status, stdout }).toMatchObject({ status: 0 });
  const lines = stdout.trimEnd().split('\n');
  expect(lines.at(-1)).toMatch(/^[1-9]\d* passed, 0 failed, 10 skipped$/);
  expect(lines.find((line) => line.startsWith('Skipped tests need: '))).toContain('FULL=1');
  const files = lines.flatMap((line) => /test\/[\w/-]+\.test\.ts/.exec(line) ?? []);
  expect(files.sort()).toEqual([
    'test/tools/cloudflare/placeholders.test.ts',
    'test/tools/development/port.test.ts',
    'test/tools/runbook.test.ts',
  ]);
  expect(stdout).not.toContain('format and lint');
  expect(stdout).not.toContain('\u001b');
  // It leaves none of its files behind.
  const left = ['/dev/shm', tmpdir()].filter(existsSync).flatMap((name) => readdirSync(name));
  expect(left.filter((name) => name.startsWith(`npm-test-${pid}-`))).toEqual([]);
});

it('withholds the output of the runtime while the tests run', () => {
  const script = `
    const { withholdOutput } = await import('./tools/test.ts');
    const { streams, release } = withholdOutput();
    console.log('a warning');
    console.error('a fault');
    await new Promise((resolve) => streams.stdout.write('a line of Vitest\\n', resolve));
    console.log(JSON.stringify(release()));`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--eval', script], { encoding: 'utf8' });
  const withheld = JSON.stringify('a warning\na fault\n');
  expect({ stdout, stderr }).toEqual({ stdout: `a line of Vitest\n${withheld}\n`, stderr: '' });
});
