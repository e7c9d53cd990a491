/** The README's threat model names its proofs: each is a test that there is. */

import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const section =
  readFileSync('README.md', 'utf8').split('\n## Threat model\n')[1]?.split('\n## ')[0] ?? '';
const claims = section
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| can or cannot'))
  .map((line) => {
    const [, claim = '', proof = ''] = line.split('|').map((cell) => cell.trim());
    return { claim, proofs: [...proof.matchAll(/`([^`]+\.test\.ts)` "([^"]+)"/g)] };
  });

describe('the threat model', () => {
  it('is found', () => {
    expect(claims.length).toBeGreaterThan(20);
  });

  it.each(claims)('has a proof that there is: $claim', ({ proofs }) => {
    expect(proofs.length).toBeGreaterThan(0);
    for (const [, file = '', title = ''] of proofs) {
      expect(existsSync(`test/${file}`), file).toBe(true);
      expect(readFileSync(`test/${file}`, 'utf8'), file).toContain(title);
    }
  });
});
