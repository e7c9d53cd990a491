import { describe, expect, it } from 'vitest';
import { isRequestLine, parseLogLine } from '../../../tools/development/output.ts';

describe('the output of wrangler dev', () => {
  it.each([
    ['[wrangler:info] GET / 302 Found (1757ms)', true],
    [
      '\u001b[2m[wrangler:info]\u001b[22m POST /api/none \u001b[33m404 Not Found\u001b[39m (9ms)',
      true,
    ],
    ['[wrangler:info] PROPFIND /a?b=c 405 Method Not Allowed (3ms)', true],
    ['[wrangler:info] Ready on http://localhost:3001', false],
    ['[wrangler:warn] GET / 302 Found (1757ms)', false],
    ['{"level":"info","message":"[wrangler:info] GET / 302 Found (1ms)"}', false],
  ])('repeats the Worker in %j: %j', (line, isRepeated) => {
    expect(isRequestLine(line)).toBe(isRepeated);
  });

  it.each([
    ['{"level":"info","message":"request","request_id":"r","status":200}', { requestId: 'r' }],
    [
      '\u001b[31m✘ \u001b[41;31m[ERROR]\u001b[0m {"level":"error","request_id":"r","cause":"Error: outer\\n    at a\\ncaused by TypeError: inner\\n    at b"}',
      { requestId: 'r', fault: 'inner' },
    ],
    ['⎔ Starting local server...', undefined],
    ['{"level":', undefined],
  ])('is, of the Worker’s log, %j', (line, logged) => {
    expect(parseLogLine(line)).toEqual(logged);
  });
});
