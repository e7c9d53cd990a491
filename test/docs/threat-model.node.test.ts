/** The threat model names its proofs: each is a test that exists. */

import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { codesIn, tablesOf } from './markdown.ts';

const claims = tablesOf('docs/explain/threat-model.md').flatMap(({ rows }) =>
  rows.map(([claim = '', proof = '']) => ({
    claim,
    named: codesIn(proof),
    proofs: [...proof.matchAll(/`(test\/[^`]+\.test\.ts)` "([^"]+)"/g)],
  })),
);

describe('the threat model', () => {
  it('is found', () => {
    expect(claims.length).toBeGreaterThan(20);
  });

  it.each(claims)('has a proof that exists: $claim', ({ named, proofs }) => {
    expect(proofs.length).toBeGreaterThan(0);
    expect(proofs.map(([, file]) => file)).toEqual(named);
    for (const [, file = '', title = ''] of proofs) {
      expect(existsSync(file), file).toBe(true);
      expect(readFileSync(file, 'utf8'), file).toContain(title);
    }
  });
});
