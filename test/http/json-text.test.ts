/** Names that occur twice in one object. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { droppedNames } from '../../src/http/json-text.ts';

it.each([
  ['{"a":1,"a":2,"a":3}', ['a']],
  ['{"a":1,"\\u0061":2}', ['a']],
  ['{"p":[0,{"a":{"b":1,"b":1}}],"p":0}', ['p', 'a', 'b']],
  ['{"__proto__":1,"__proto__":2}', ['__proto__']],
  ['{"\\\\":1,"\\"":2,"\\\\" :3}', ['\\']],
  ['{"a":{"b":1},"b":{"a":1,"b":[{"a":1},{"a":1}]}}', []],
  ['{"note":"a: \\"b\\": c","b":["a","a"],"a":{}}', []],
])('of %s, the names %j are dropped', (text, names) => {
  expect(droppedNames(text, JSON.parse(text))).toEqual(names);
});

it('no name of written JSON is dropped', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(droppedNames(JSON.stringify(value, null, 1), value)).toEqual([]);
    }),
  );
});
