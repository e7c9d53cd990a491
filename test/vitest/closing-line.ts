/** Prints the last line of a test run, such as `1204 passed, 0 failed, 7 skipped`. */

import { existsSync } from 'node:fs';
import type { Reporter, TestModule, Vitest } from 'vitest/node';

const CHROMIUM = '/usr/bin/chromium';

export default class ClosingLine implements Reporter {
  /** Whether a name pattern (`-t`) selects the tests. All other tests then count as skipped. */
  #hasNamePattern = false;

  onInit({ config }: Vitest): void {
    this.#hasNamePattern = config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const find = (state: 'passed' | 'failed' | 'skipped') =>
      modules.flatMap(({ children }) => [...children.allTests(state)]);
    const [passed, skipped] = [find('passed').length, find('skipped')];
    // A file that cannot be loaded has no failed test.
    const broken = modules.filter(
      (module) =>
        module.state() === 'failed' && [...module.children.allTests('failed')].length === 0,
    );
    const failed = find('failed').length + broken.length + errors.length || (passed > 0 ? 0 : 1);
    if (failed > 0) process.exitCode = 1;
    const unmet = new Set(process.env.FULL ? [] : ['FULL=1']);
    if (!existsSync(CHROMIUM)) unmet.add(CHROMIUM);
    // The note of a skipped test names what it needs, e.g. git.
    for (const result of skipped.map((test) => test.result())) {
      if (result.state === 'skipped' && result.note) unmet.add(result.note);
    }
    if (skipped.length > 0 && unmet.size > 0 && !this.#hasNamePattern)
      console.log(`Skipped tests need: ${[...unmet].join(', ')}`);
    console.log(`\n${passed} passed, ${failed} failed, ${skipped.length} skipped`);
  }
}
