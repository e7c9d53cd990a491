import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { decodeCursor, encodeCursor } from '../../src/http/paging.ts';

const scope = { list: 'properties', filters: { status: ['listed'] } };
const position = z.tuple([z.int(), z.string()]);
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=. ';

const INVALID = expect.objectContaining({ code: 'invalid_cursor' });

function decode(cursor: string, under = scope) {
  return decodeCursor(cursor, under, position);
}

describe('a cursor', () => {
  it('encodes its position', () => {
    const cursor = encodeCursor(scope, [-7, 'b']);
    expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(decode(cursor)).toEqual([-7, 'b']);
  });

  it('has at most 1,000 characters for filters of any length', () => {
    const place = ['s'.repeat(200), '5f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42'];
    const shape = z.tuple([z.string(), z.string()]);
    for (const name of ['a'.repeat(12_000), '"'.repeat(500), '😀'.repeat(4_000), '\ud83d']) {
      const long = { list: 'properties', filters: { name } };
      const cursor = encodeCursor(long, place);
      expect(cursor.length).toBeLessThanOrEqual(1_000);
      expect(decodeCursor(cursor, long, shape)).toEqual(place);
      const other = { ...long, filters: { name: `${long.filters.name} ` } };
      expect(() => decodeCursor(cursor, other, shape)).toThrow(INVALID);
    }
  });

  it('is rejected if any single character is changed', () => {
    const cursor = encodeCursor(scope, [12, '5f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42']);
    const changed = [...cursor].flatMap((_, index) =>
      ['', ...ALPHABET].map((text) => cursor.slice(0, index) + text + cursor.slice(index + 1)),
    );
    for (const text of [...changed, `${cursor} `, `${cursor}=`, `${cursor}A`]) {
      if (text === cursor) continue;
      expect(() => decode(text), text).toThrow(INVALID);
    }
  });

  it.each([
    ['not base64url', '%%%'],
    ['a check without content', 'AAAAAAAAAAA'],
    ['far too long', 'A'.repeat(100_000)],
    ['not ASCII', 'é'.repeat(20)],
  ])('is rejected if it is %s', (_name, text) => {
    expect(() => decode(text)).toThrow(INVALID);
  });

  it('is rejected if its position has the wrong shape, even with a valid check', () => {
    const cursor = encodeCursor(scope, ['a', 1]);
    expect(() => decode(cursor)).toThrow(INVALID);
  });
});
