/** test/conformance.md names tests that exist and run, and all of the specification's names. */

import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { CONFORMANCE, codesIn, tablesOf, textOf } from './docs/markdown.ts';

const rows = tablesOf(CONFORMANCE).flatMap(({ rows: own }) =>
  own.map(([sentence = '', proof = '']) => {
    const [file = ''] = codesIn(proof);
    return { sentence, file, title: proof.replace(`\`${file}\` `, '') };
  }),
);

/** Whether a test of the file has the title, and its group too, and none of the file is skipped. */
function hasTest(file: string, fullTitle: string): boolean {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const [group = '', title = group] = fullTitle.split(' › ');
  const place = text.indexOf(`'${title}'`, Math.max(0, text.indexOf(`'${group}'`)));
  const isSkipped = /\.(skip|only|todo)\b/.test(text);
  if (isSkipped || place < 0 || !text.includes(`'${group}'`)) return false;
  const before = text.slice(0, place);
  const call = before.slice(Math.max(before.lastIndexOf('\nit'), before.lastIndexOf('  it')));
  return /^\s*it(\.each|\.for)?[<([]/.test(call);
}

it('has a row for each sentence', () => {
  expect(rows.length).toBeGreaterThanOrEqual(150);
});

it('names tests that exist, and are not skipped', () => {
  expect(rows.filter(({ file, title }) => !hasTest(file, title))).toEqual([]);
});

/** The paths, fields, headers, codes and limits of the specification. */
const NAMES = [
  ...['/api/public/events/ingest', '/api/v1/events', '/api/v1/events/:id', '/api/docs'],
  ...['/api/v1/web/properties', '/api/v1/web/properties/:slug-or-id'],
  ...['/api/health', '/api/health/detailed'],
  ...['type', 'status', 'location_id', 'limit', 'cursor'],
  ...['event_type', 'aggregate_id', 'aggregate_type', 'payload', 'event_id'],
  ...['object', 'data', 'has_more', 'next_cursor', 'pending', 'idempotent', 'hidden'],
  ...['validation_error', 'invalid_cursor', 'authentication_required', 'authentication_invalid'],
  ...['resource_missing', 'idempotency_key_in_use', 'rate_limit_exceeded', 'internal_error'],
  ...['rate_limit_error', 'statusCode', 'timestamp', 'path', 'method', 'message'],
  ...['x-api-key', 'Authorization: Bearer', 'Idempotency-Key', 'X-Request-ID', 'Retry-After'],
  ...['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'tool-web'],
  ...['booking.created', 'booking.cancelled', '100 requests per 60 seconds', '255 characters'],
  ...['200 ingest requests per minute', '24 hours', '200 characters', '25 items', '100 items'],
  ...['port 3001', 'PORT', 'req_'],
];

it('has every name of the specification', () => {
  expect(NAMES.filter((name) => !textOf(CONFORMANCE).includes(name))).toEqual([]);
});
