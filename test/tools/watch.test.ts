/** The tests that `npm run watch` runs for a saved file: ../vitest/watched-tests.ts. */

import { describe, expect, it } from 'vitest';
import { CODE, watchedTests } from '../vitest/watched-tests.ts';

const testsOf = (file: string) => {
  const match = CODE.exec(file);
  return match === null ? undefined : watchedTests(match);
};

describe('a saved file', () => {
  it('of a capability runs the tests of its folder, and contract.test.ts', () => {
    const files = testsOf('/home/anna/feed/src/health/routes.ts');
    expect(files).toEqual(['test/health/health.test.ts', 'test/contract.test.ts']);
  });

  it('of src itself runs test/http and contract.test.ts', () => {
    const files = testsOf('src/app.ts') ?? [];
    expect(files).toContain('test/http/conventions.test.ts');
    expect(files).toContain('test/contract.test.ts');
    expect(files.length).toBeLessThan(20);
  });

  it.each([
    ['tools/token.ts', ['test/tools/token.test.ts']],
    ['tools/cloudflare/api.ts', ['test/tools/cloudflare/placeholders.test.ts']],
  ])('%s runs %j', (file, files) => {
    expect(testsOf(file)).toEqual(files);
  });

  it('in a folder of tools without tests of its own runs the tests of the commands that import it', () => {
    expect(testsOf('tools/erasure/ledger.ts')).toContain('test/tools/erase-events.test.ts');
  });

  it.each(['test/health/health.test.ts', 'test/support/http.ts', 'docs/operate/runbook.md'])(
    '%s is left to Vitest',
    (file) => {
      expect(testsOf(file)).toBeUndefined();
    },
  );
});
