import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { withTextParameters } from '../../../tools/database/d1.ts';

/** Runs a statement with string parameters, as D1's REST API does. */
function run(sql: string, values: unknown[]): unknown[] {
  const query = withTextParameters(sql, values);
  expect(query.params.every((param) => typeof param === 'string')).toBe(true);
  const database = new DatabaseSync(':memory:');
  return Object.values(database.prepare(query.sql).get(...query.params) ?? {});
}

describe('withTextParameters', () => {
  it.each<[string, unknown[], unknown[]]>([
    [
      'SELECT typeof(?) AS a, typeof(?) AS b, typeof(?) AS c',
      ['1', 1, 1.5],
      ['text', 'integer', 'real'],
    ],
    ['SELECT ? IS NULL AS a, ? AS b', [null, true], [1, 1]],
    ['SELECT ?2 AS a, ?1 AS b, 1 -?2 AS c', ['x', -3], [-3, 'x', 4]],
    [`SELECT '?' AS a, 1 AS "?", ? AS c -- ? and ?`, ["it's ?"], ['?', 1, "it's ?"]],
    [`SELECT 'a''?' AS a /* ? */, ? AS b`, [9007199254740991], ["a'?", 9007199254740991]],
  ])('preserves the types of the values in %s', (sql, values, expected) => {
    expect(run(sql, values)).toEqual(expected);
  });

  it.each([[undefined], [Number.NaN], [new Date(0)], [10n]])('rejects %s', (value) => {
    expect(() => withTextParameters('SELECT ?', [value])).toThrow('D1 cannot bind');
  });

  it('rejects a parameter that has no value', () => {
    expect(() => withTextParameters('SELECT ?2', ['a'])).toThrow('parameter 2 has no value');
  });
});
