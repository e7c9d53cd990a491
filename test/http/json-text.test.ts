/** Repeated names and exact numbers, which `JSON.parse` would lose. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findRepeatedNames, parseNumbersAsText } from '../../src/http/json-text.ts';

describe('findRepeatedNames', () => {
  it.each([
    ['{"a":1,"a":2,"a":3}', ['a']],
    ['{"a":1,"\\u0061":2}', ['a']],
    ['{"p":[0,{"a":{"b":1,"b":1}}],"p":{"a":0}}', ['b', 'p']],
    ['{"__proto__":1,"__proto__":2}', ['__proto__']],
    ['{"\\\\":1,"\\"":2,"\\\\" :3}', ['\\']],
    ['{"a":{"b":1},"b":{"a":1,"b":[{"a":1},{"a":1}]}}', []],
    ['{"note":"a: \\"b\\": c","b":["a","a"],"a":{}}', []],
  ])('searches %s and finds %j', (text, names) => {
    expect(findRepeatedNames(text)).toEqual(names);
  });

  it('finds no repeated names in the output of JSON.stringify', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(findRepeatedNames(JSON.stringify(value, null, 1))).toEqual([]);
      }),
    );
  });
});

describe('parseNumbersAsText', () => {
  it.each([
    ['{"n":9007199254740993,"m":[-1.50,1e400]}', { n: '9007199254740993', m: ['-1.50', '1e400'] }],
    [' [ 1E+2 , -0 ,0.10]', ['1E+2', '-0', '0.10']],
    ['{"a1":"2, \\"3\\": 4","\\\\":5}', { a1: '2, "3": 4', '\\': '5' }],
    ['[true,null,"1"]', [true, null, '1']],
  ])('parses %s', (text, value) => {
    expect(parseNumbersAsText(text)).toEqual(value);
  });

  it('parses JSON of any depth', () => {
    const depth = 100_000;
    expect(() => parseNumbersAsText(`${'['.repeat(depth)}1${']'.repeat(depth)}`)).not.toThrow();
  });
});
