import { describe, expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { expectError, sendWith } from '../support/http.ts';
import { namedKey } from '../support/keys.ts';

describe('a thrown value that is no Error is a 500, and logged', () => {
  it('in a route', async () => {
    const error = vi.spyOn(console, 'error').mockReturnValue(undefined);
    const app = createApp().get('/api/v1/work', () => Promise.reject('text'));
    const response = await sendWith({}, '/api/v1/work', {}, app);
    expect((await expectError(response, 500, 'internal_error')).message).not.toContain('text');
    expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff');
    expect(String(error.mock.lastCall)).toContain('a thrown string');
  });

  it('in the rate limit, with the other headers', async () => {
    const { key, entry } = await namedKey('site', ['feed:read']);
    const API_KEYS = [{ ...entry, rate_limit: 10 }];
    vi.spyOn(console, 'error').mockReturnValue(undefined);
    vi.spyOn(crypto.subtle, 'digest').mockRejectedValue('text');
    const headers = { 'x-api-key': key };
    const response = await sendWith({ API_KEYS }, '/api/none', { headers });
    await expectError(response, 500, 'internal_error');
    expect(response.headers.get('X-Content-Type-Options')).toBe('nosniff');
  });
});
