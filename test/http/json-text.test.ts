/** Names that occur twice in one object. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { repeatedNames } from '../../src/http/json-text.ts';

it.each([
  ['{"a":1,"a":2,"a":3}', ['a']],
  ['{"a":1,"\\u0061":2}', ['a']],
  ['{"p":[0,{"a":{"b":1,"b":1}}],"p":{"a":0}}', ['b', 'p']],
  ['{"__proto__":1,"__proto__":2}', ['__proto__']],
  ['{"\\\\":1,"\\"":2,"\\\\" :3}', ['\\']],
  ['{"a":{"b":1},"b":{"a":1,"b":[{"a":1},{"a":1}]}}', []],
  ['{"note":"a: \\"b\\": c","b":["a","a"],"a":{}}', []],
])('in %s, the names %j are repeated', (text, names) => {
  expect(repeatedNames(text)).toEqual(names);
});

it('no name of written JSON is repeated', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(repeatedNames(JSON.stringify(value, null, 1))).toEqual([]);
    }),
  );
});
