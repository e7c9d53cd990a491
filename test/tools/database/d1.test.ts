import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { withTextParameters } from '../../../tools/database/d1.ts';

/** Runs a statement as D1's REST interface does: its parameters are texts. */
function run(sql: string, values: unknown[]): unknown[] {
  const written = withTextParameters(sql, values);
  expect(written.params.every((param) => typeof param === 'string')).toBe(true);
  const database = new DatabaseSync(':memory:');
  return Object.values(database.prepare(written.sql).get(...written.params) ?? {});
}

describe('a statement whose parameters are texts', () => {
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
  ])('%s', (sql, values, expected) => {
    expect(run(sql, values)).toEqual(expected);
  });

  it.each([[undefined], [Number.NaN], [new Date(0)], [10n]])('rejects %s', (value) => {
    expect(() => withTextParameters('SELECT ?', [value])).toThrow('D1 cannot bind');
  });

  it('rejects a parameter without a value', () => {
    expect(() => withTextParameters('SELECT ?2', ['a'])).toThrow('a parameter 2, and 1 values');
  });
});
