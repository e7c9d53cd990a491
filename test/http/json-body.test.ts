import { expect, it } from 'vitest';
import { type JsonValue, limitProblemsOf } from '../../src/http/json-body.ts';

const pathsOf = (text: string) => {
  const value: JsonValue = JSON.parse(text);
  return limitProblemsOf(value).map(({ path }) => path);
};

it.each<[paths: string[], text: string]>([
  [[], '{"a":[1,-2.5,1e15,"text",true,null,{}],"😀":"😀"}'],
  [[], '{"n":[9007199254740991,-9007199254740991,0.1,5e-324]}'],
  [['n'], '{"n":9007199254740992}'],
  [['n'], '{"n":1e400}'],
  [['a.0', 'b.c'], '{"a":[-1e400],"b":{"c":12345678901234567890}}'],
  [['__proto__'], '{"__proto__":1}'],
  [['a.__proto__', 'b'], '{"a":{"__proto__":{"n":1e999}},"b":1e999}'],
  [['s'], '{"s":"a\\udfffb"}'],
  [['a.\ufffd'], '{"a":{"\\ud83d":1}}'],
  [['0.1'], '[[0,1e999]]'],
  [[''], '1e999'],
])('finds %j', (paths, text) => {
  expect(pathsOf(text)).toEqual(paths);
});

it('counts levels from the body itself, through lists and objects', () => {
  const nested = (levels: number) => '{"a":['.repeat(levels / 2) + ']}'.repeat(levels / 2);
  expect(pathsOf(nested(64))).toEqual([]);
  expect(pathsOf(nested(66))).toEqual(['a.0.'.repeat(32).slice(0, -1)]);
});

it('stops at 50 problems, and does not follow a body to any depth', () => {
  for (const value of ['1e999', '{"__proto__":1}', '{"\\ud83d":1}']) {
    expect(pathsOf(`[${Array(80).fill(value).join()}]`)).toHaveLength(50);
  }
  const names = Array.from({ length: 80 }, (_, index) => `"\\ud83d${index}":1`);
  expect(pathsOf(`{${names.join()}}`)).toHaveLength(50);
  expect(pathsOf('['.repeat(100_000) + ']'.repeat(100_000))).toHaveLength(1);
});
