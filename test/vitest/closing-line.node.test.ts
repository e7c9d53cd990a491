/** Runs Vitest with the reporter that `npm test` uses. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** Runs Vitest on a temporary project with the given files. */
function run(files: Record<string, string>, ...args: string[]) {
  const root = mkdtempSync(join(tmpdir(), 'vitest-'));
  const config = {
    globals: true,
    reporters: [join(import.meta.dirname, 'closing-line.ts')],
  };
  const all = {
    ...files,
    'vitest.config.js': `export default ${JSON.stringify({ test: config })}`,
  };
  for (const [name, text] of Object.entries(all)) writeFileSync(join(root, name), text);
  const { status, stdout } = spawnSync('vitest', ['run', '--root', root, ...args], {
    encoding: 'utf8',
    env: { ...process.env, FULL: '' },
  });
  return { status, lines: stdout.trimEnd().split('\n') };
}

describe('the last line of a run', () => {
  it('counts a file that fails to load as one failure', () => {
    const { status, lines } = run({
      'a.test.js':
        "it('a', () => {}); it('b', () => expect(1).toBe(2)); it('c', ({ skip }) => skip('git'));",
      'b.test.js': "import './missing.js';",
    });
    expect(lines).toContainEqual(expect.stringMatching(/^Skipped tests need: FULL=1, .*git$/));
    expect([status, lines.at(-1)]).toEqual([1, '1 passed, 2 failed, 1 skipped']);
  });

  it('reports a failure if no test has run', () => {
    const { status, lines } = run({ 'a.test.js': "it('a', () => {});" }, '-t', 'b');
    expect([status, lines.at(-1)]).toEqual([1, '0 passed, 1 failed, 1 skipped']);
    expect(lines).not.toContainEqual(expect.stringContaining('Skipped tests need'));
  });
});
