/** `npm test -- FILE...`, with a program in place of Vitest. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { expect, it } from 'vitest';

/** Prints its arguments, writes the report, and fails as Vitest does if a test has failed. */
const VITEST = `#!/bin/sh
printf '%s\\n' "$@"
echo 'expected 1 to be 2' >&2
printf '%s' "$REPORT" > "$(printf '%s\\n' "$@" | sed -n 's/^--outputFile.json=//p')"
exit "$CODE"
`;

function run(code: number, report: string, ...args: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'vitest-'));
  writeFileSync(join(folder, 'vitest'), VITEST, { mode: 0o700 });
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['tools/test.ts', 'development/port.test.ts', '../health', ...args],
    {
      encoding: 'utf8',
      env: {
        ...process.env,
        ...{ PATH: `${folder}${delimiter}${process.env.PATH}`, REPORT: report, CODE: String(code) },
        ...{ FULL: '', npm_lifecycle_event: 'test', INIT_CWD: join(process.cwd(), 'test/tools') },
      },
    },
  );
  return { status, stderr, lines: stdout.trimEnd().split('\n') };
}

it('npm test -- FILE runs these files and folders of the current folder, shows errors, and counts', () => {
  const report = JSON.stringify({ numPassedTests: 7, numFailedTests: 2, numPendingTests: 1 });
  const { status, stderr, lines } = run(1, report);
  expect(lines.filter((line) => line.endsWith('.test.ts'))).toEqual([
    'test/tools/development/port.test.ts',
    'test/health/health.test.ts',
  ]);
  expect({ status, stderr, last: lines.at(-1) }).toEqual({
    status: 1,
    stderr: 'expected 1 to be 2\n\n',
    last: '7 passed, 2 failed, 1 skipped',
  });
  expect(lines).toContainEqual(expect.stringMatching(/^Skipped tests need: .*FULL=1/));
  const [, reportFile = ''] =
    lines.find((line) => line.startsWith('--outputFile'))?.split('=') ?? [];
  expect(existsSync(dirname(reportFile))).toBe(false);
});

it('says nothing else when all has passed, and counts a file that cannot be loaded', () => {
  const report = JSON.stringify({ numPassedTests: 7, numFailedTests: 0, numPendingTests: 0 });
  expect(run(0, report)).toMatchObject({ status: 0, stderr: '' });
  const { status, lines } = run(1, report);
  expect([status, lines.at(-1)]).toEqual([1, '7 passed, 1 failed']);
});

it('--slowest names the ten slowest files, the slowest first', () => {
  const testResults = Array.from({ length: 12 }, (_, index) => ({
    name: join(process.cwd(), `test/${index}.test.ts`),
    startTime: 1_000,
    endTime: 1_000 + index * 10,
  }));
  const report = JSON.stringify({ numPassedTests: 7, testResults });
  const named = run(0, report, '--slowest').lines.filter((line) => / ms test/.test(line));
  expect(named).toHaveLength(10);
  expect(named[0]).toBe('   110 ms test/11.test.ts');
});
