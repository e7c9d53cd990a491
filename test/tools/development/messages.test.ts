import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { requestLine, welcome } from '../../../tools/development/messages.ts';
import { TEST_VARS } from '../../support/vars.ts';

const read = { method: 'GET', route: '/api/v1/web/properties', status: 200, duration_ms: 12 };

it.each([
  [{ caller: 'site', cache: 'memory', colo: 'DFW' }, '200 GET', 'memory site'],
  [{ status: 400, error_code: 'bad', error_param: 'limit' }, '400 GET', 'bad limit'],
  [
    { method: 'OPTIONS', rejected_origin: 'https://a.example' },
    '200 OPTIONS',
    'https://a.example is not in CORS_ORIGINS',
  ],
])('a request with %j is shown on a terminal as %s … %s', (fields, head, end) => {
  const line = JSON.stringify({ level: 'info', message: 'request', id: 1, ...read, ...fields });
  const shown = stripVTControlCharacters(requestLine(line) ?? '');
  expect(shown).toBe(`${head} /api/v1/web/properties 12 ms ${end}`);
});

it('the first API key is quoted for a shell', () => {
  const vars = new Map(Object.entries({ ...TEST_VARS, API_KEY: " the key's,other" }));
  const shown = welcome('http://localhost:3001', 9_229, vars);
  expect(shown).toContain(`-H 'x-api-key: the key'\\''s'`);
  expect(shown).not.toContain('other');
});

it('a malformed var is named when every response is an error', () => {
  const vars = new Map([['FEED_CACHE_SECONDS', 'soon']]);
  expect(welcome('http://localhost:3001', 9_229, vars)).toMatch(
    /Not ready: every response of http:\S+ is an error: .*FEED_CACHE_SECONDS must be a whole number/,
  );
});
