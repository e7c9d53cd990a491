/** The log of the whole suite is read: see support/watch-log.ts. */

import { describe, expect, it, vi } from 'vitest';
import { logFault, logInfo } from '../src/http/log.ts';
import { send } from './support/http.ts';
import { takeLeaks } from './support/watch-log.ts';

const INGEST = '/api/public/events/ingest';
const secrets = {
  'an API key': 'leaked-api-key-1',
  'a bearer token': 'leaked.bearer.token',
  'an Idempotency-Key': 'leaked-idempotency-key',
  'a value of a body': 'leaked "value"',
  'a value of a query': 'leaked-query-value',
};

describe('the watch over the log', () => {
  it.each(Object.entries(secrets))('finds %s, in a line and in a cause', async (_name, secret) => {
    vi.spyOn(console, 'error').mockReturnValue(undefined);
    await send(`${INGEST}?q=${secrets['a value of a query']}`, {
      method: 'POST',
      headers: {
        'x-api-key': secrets['an API key'],
        Authorization: `Bearer ${secrets['a bearer token']}`,
        'Idempotency-Key': secrets['an Idempotency-Key'],
      },
      body: JSON.stringify({ payload: { list: [{ note: secrets['a value of a body'] }] } }),
    });
    expect(takeLeaks()).toEqual([]);
    logInfo('request', { note: `it was ${secret}` });
    expect(takeLeaks()).toHaveLength(1);
    logFault('failed', new Error('outside', { cause: new Error(`inside: ${secret}`) }));
    expect(takeLeaks()).toHaveLength(1);
    vi.restoreAllMocks();
  });
});
