import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { firstRequests } from '../../../tools/development/first-requests.ts';

describe('the first requests', () => {
  it('reach curl unchanged through a shell, whatever the key holds', () => {
    for (const key of ["it's", '$(id) `id`', 'a"b\\']) {
      const [, feed = ''] = firstRequests('http://localhost:3001', key);
      const words = execFileSync('sh', ['-c', feed.replace(/^curl/, "printf '%s\\n'")]);
      expect(words.toString().split('\n')).toContain(`x-api-key: ${key}`);
    }
  });
});
