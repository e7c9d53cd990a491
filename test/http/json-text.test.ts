/** The place of a fault in JSON, and names that occur twice in one object. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { describeFault, scanJson } from '../../src/http/json-text.ts';

it.each([
  ['', 'The body is empty.'],
  [' \r\n', 'The body is empty.'],
  ["'{kind:test}'", 'line 1, column 1: put names and texts in double quotation marks.'],
  ["{'a':1}", 'line 1, column 2: put names and texts in double quotation marks.'],
  ['{a:1}', 'line 1, column 2: a name in double quotation marks is expected.'],
  ['{"a" 1}', 'line 1, column 6: a colon is expected.'],
  ['{"é":\r\n NaN}', 'line 2, column 2: JSON has no such number; send null.'],
  ['{"a":-Infinity}', 'line 1, column 6: JSON has no such number; send null.'],
  ['{"a":None}', 'line 1, column 6: write true, false or null.'],
  ['{"📅":1,}', 'line 1, column 8: remove the comma before this place.'],
  ['[1,\n]', 'line 2, column 1: remove the comma before this place.'],
  ['{"a":}', 'line 1, column 6: a value is expected.'],
  ['[1 2]', 'line 1, column 4: a comma or the end of the list or object is expected.'],
  ['{"a":01}', 'line 1, column 7: a comma or the end of the list or object is expected.'],
  ['{"a":"b', 'line 1, column 8: it ends before it is complete.'],
  ['{"a":"\n"}', 'column 7: escape the control character, such as \\n for a new line.'],
  ['{"a":"\\x"}', 'line 1, column 7: this escape is not one of JSON.'],
  ['{}\n{}', 'line 2, column 1: the JSON is complete before this place; send one object,'],
])('%j is malformed: %s', (text, message) => {
  expect(describeFault(text)).toContain(message);
});

it.each([
  ['{"a":1,"a":2,"a":3}', ['a']],
  ['{"a":1,"\\u0061":2}', ['a']],
  ['{"p":[0,{"a":{"b":1,"b":1}}],"p":0}', ['p.1.a.b', 'p']],
  ['{"__proto__":1,"__proto__":2}', ['__proto__']],
  ['{"\\\\":1,"\\"":2,"\\\\":3}', ['\\']],
  ['{"a":{"b":1},"b":{"a":1,"b":[{"a":1},{"a":1}]}}', []],
  ['{"note":"a: \\"b\\": c","b":["a","a"],"a":{}}', []],
])('the names that occur twice in one object of %s are %j', (text, paths) => {
  const { faultAt, repeatedNames } = scanJson(text, 50);
  expect(faultAt).toBeUndefined();
  expect(repeatedNames.map((path) => path.join('.'))).toEqual(paths);
});

it('the scan of a text ends at a number of repeated names, and at 100 levels', () => {
  const names = '{"a":1,"b":1,"a":1,"b":1}';
  expect(scanJson(names, 1).repeatedNames).toEqual([['a']]);
  const nested = (levels: number) => `${'['.repeat(levels)}${names}${']'.repeat(levels)}`;
  expect(scanJson(nested(99), 50).repeatedNames).toHaveLength(2);
  expect(scanJson(nested(100), 50).repeatedNames).toEqual([]);
  expect(describeFault('[{"a":'.repeat(100_000))).toContain('nested too deeply');
});

it('the scan for a fault notes no repeated name', () => {
  const { faultAt, repeatedNames } = scanJson(`{${'"a":1,'.repeat(1_000)}}`, 0);
  expect(faultAt).toBe(6_001);
  expect(repeatedNames).toEqual([]);
});

/** Pieces of JSON in a random order: seldom well-formed. */
const pieces = fc
  .array(
    fc.constantFrom(
      ...'{ } [ ] , : "a" "\\u00e9" "\\" 1 -0 1.5e3 01 . true null nul \n \t'.split(' '),
    ),
    { maxLength: 8 },
  )
  .map((list) => list.join(''));

/** JSON with at most one character removed or doubled. */
const damaged = fc.tuple(fc.json(), fc.nat(), fc.nat(2)).map(([text, place, copies]) => {
  const at = place % text.length;
  return text.slice(0, at) + text.charAt(at).repeat(copies) + text.slice(at + 1);
});

it('finds a fault in exactly the texts that JSON.parse rejects, and no repeated name in written JSON', () => {
  const isRejected = (text: string) => {
    try {
      JSON.parse(text);
      return false;
    } catch {
      return true;
    }
  };
  fc.assert(
    fc.property(fc.oneof(pieces, damaged, fc.string({ unit: 'binary' })), (text) => {
      expect(scanJson(text, 0).faultAt !== undefined).toBe(isRejected(text));
    }),
    { numRuns: 3_000 },
  );
  fc.assert(
    fc.property(fc.json(), (text) => {
      expect(scanJson(text, 50).repeatedNames).toEqual([]);
    }),
  );
});
