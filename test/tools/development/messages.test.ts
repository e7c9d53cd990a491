import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { formatLogLine, welcome } from '../../../tools/development/messages.ts';
import { TEST_VARS } from '../../support/vars.ts';

const REQUEST = {
  request_id: 'req_69db41f0',
  method: 'GET',
  route: '/api/v1/web/properties',
  path: '/api/v1/web/properties?limit=2',
  status: 200,
  duration_ms: 27,
};

const format = (line: string) => stripVTControlCharacters(formatLogLine(line, '10:42:07'));

describe('formatLogLine', () => {
  it.each([
    [{ cache: 'database', colo: 'DFW' }, 'GET', '200 27 ms database'],
    [{ status: 400, error_code: 'bad', error_param: 'limit' }, 'GET', '400 27 ms bad limit'],
    [
      { status: 401, error_code: 'bad', token_fault: 'ERR_JWT_EXPIRED exp' },
      'GET',
      '401 27 ms bad ERR_JWT_EXPIRED exp',
    ],
    [
      { method: 'OPTIONS', rejected_origin: 'https://a.example' },
      'OPTIONS',
      '200 27 ms https://a.example',
    ],
  ])('formats a request with %j as %s … %s', (fields, method, end) => {
    const line = JSON.stringify({ level: 'info', message: 'request', ...REQUEST, ...fields });
    expect(format(line)).toBe(`10:42:07 ${method} /api/v1/web/properties?limit=2 ${end} req_69db…`);
  });

  it('formats an error with its complete cause', () => {
    const cause = 'Error: D1 is away\n    at read';
    const line = JSON.stringify({
      level: 'error',
      message: 'request failed',
      request_id: 'r1',
      cause,
    });
    expect(format(`✘ [ERROR] ${line}`)).toBe(
      '10:42:07 request failed r1\n    Error: D1 is away\n        at read',
    );
  });

  it.each(['⎔ Reloading local server...', '{"level":', '{"level":"info"}'])(
    'leaves %j unchanged',
    (line) => {
      expect(format(line)).toBe(line);
    },
  );
});

describe('welcome message', () => {
  it('quotes the first API key for use in a shell', () => {
    const vars = new Map(Object.entries({ ...TEST_VARS, API_KEY: " the key's,other" }));
    const message = welcome('127.0.0.1', 3001, 9_229, vars);
    expect(message).toContain(`-H 'x-api-key: the key'\\''s'`);
    expect(message).not.toContain('other');
  });

  it.each([
    ['127.0.0.1', true, false],
    ['::1', true, false],
    ['0.0.0.0', true, true],
    ['192.168.1.20', false, true],
  ])('handles the host %s (pages: %s, network warning: %s)', (host, hasPages, isOpen) => {
    const message = stripVTControlCharacters(welcome(host, 3001, 9_229, new Map()));
    expect(message.includes('/preview')).toBe(hasPages);
    expect(message.includes('Use --host 0.0.0.0 to see them')).toBe(!hasPages);
    expect(message.includes('Everyone on this network can use this key')).toBe(isOpen);
  });
});
