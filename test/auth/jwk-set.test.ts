/** Usable, ignored and malformed entries of a JSON Web Key Set. */

import { describe, expect, it } from 'vitest';
import { readKeySet } from '../../src/auth/jwk-set.ts';

const KEY = { kty: 'EC', kid: 'good' };

describe('readKeySet', () => {
  it.each<[entry: unknown, malformedEntries: string[]]>([
    [{ kty: 'AKP', kid: 'a' }, []],
    [{ kty: 'oct', k: 'AA' }, []],
    [{ kty: 'EC', d: 'AA' }, []],
    [{ kid: 'a', n: 'secret' }, ['entry 0 (kid "a") has no valid kty']],
    [{ kid: 7 }, ['entry 0 has no valid kty']],
    [{ kty: 7 }, ['entry 0 has no valid kty']],
    [{ kty: null, kid: 'a\n"' }, ['entry 0 (kid "a\\n\\"") has no valid kty']],
    [{ kid: 'a'.repeat(65) }, [`entry 0 (kid "${'a'.repeat(64)}") has no valid kty`]],
    [{ kid: `${'a'.repeat(63)}😀` }, [`entry 0 (kid "${'a'.repeat(63)}\ufffd") has no valid kty`]],
    [{}, ['entry 0 has no valid kty']],
    [null, ['entry 0 is not a JSON object']],
    ['secret', ['entry 0 is not a JSON object']],
    [[KEY], ['entry 0 is not a JSON object']],
  ])('ignores the entry %j but keeps a usable key', (entry, malformedEntries) => {
    const keySet = readKeySet({ keys: [entry, KEY] });
    expect(keySet).toEqual({ usableKeys: [KEY], size: 2, malformedEntries });
  });

  it.each([undefined, null, 'keys', [], [KEY], {}, { keys: {} }, { keys: 'none' }])(
    'returns undefined for %j, which is not a key set',
    (value) => expect(readKeySet(value)).toBeUndefined(),
  );

  it('reports at most 20 malformed entries', () => {
    const keySet = readKeySet({ keys: [...Array(1_000).fill(null), KEY] });
    expect(keySet?.malformedEntries).toHaveLength(20);
    expect(keySet?.usableKeys).toEqual([KEY]);
  });
});
