import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { requestLine } from '../../../tools/development/messages.ts';

const line = (fields: object) =>
  stripVTControlCharacters(
    requestLine(
      JSON.stringify({ level: 'info', message: 'request', request_id: 'req_1', ...fields }),
    ) ?? '',
  );

const read = { method: 'GET', route: '/api/v1/web/properties', status: 200, duration_ms: 12 };

it.each([
  [
    { ...read, caller: 'marketing-site', cache: 'memory', colo: 'DFW' },
    '200 GET /api/v1/web/properties 12 ms memory marketing-site',
  ],
  [
    { ...read, status: 400, error_code: 'validation_error', error_param: 'limit' },
    '400 GET /api/v1/web/properties 12 ms validation_error limit',
  ],
  [
    { ...read, status: 405, method: 'OPTIONS', rejected_origin: 'https://site.example' },
    '405 OPTIONS /api/v1/web/properties 12 ms https://site.example is not in CORS_ORIGINS',
  ],
])('%j on a terminal is: %s', (fields, shown) => {
  expect(line(fields)).toBe(shown);
});

it('another line of the log is shown unchanged', () => {
  expect(requestLine('{"level":"error","message":"no database"}')).toBeUndefined();
  expect(requestLine('⎔ Reloading local server...')).toBeUndefined();
});
