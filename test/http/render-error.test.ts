import { env } from 'cloudflare:workers';
import { describe, expect, it, vi } from 'vitest';
import { createApp } from '../../src/app.ts';
import { expectError, sendWith } from '../support/http.ts';
import { namedKey } from '../support/keys.ts';

const HINT = 'This working copy is not set up: run `npm run dev` once.';

async function messageOf(origin: string, changes: object, key: string): Promise<string> {
  const headers = { 'x-api-key': key };
  const response = await sendWith(changes, `${origin}/api/v1/events`, { headers });
  return (await response.json<{ message: string }>()).message;
}

describe('the responses of a working copy that is not set up', () => {
  it.each(['http://localhost:3001', 'http://127.0.0.1:8787', 'http://[::1]:3001'])(
    'name the next command at %s',
    async (origin) => {
      expect(await messageOf(origin, { API_KEY: undefined }, 'x')).toContain(HINT);
    },
  );

  it('give the hint too when only the tables are missing', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {});
    await env.DB.exec('ALTER TABLE events RENAME TO away');
    const message = await messageOf('http://localhost:3001', {}, 'test-key-number-one');
    await env.DB.exec('ALTER TABLE away RENAME TO events');
    expect(message).toContain(HINT);
  });

  it('give no hint once it is set up, or under a public host name', async () => {
    expect(await messageOf('http://localhost:3001', {}, 'wrong')).not.toContain('npm run');
    const deployed = await messageOf('https://api.example.com', { API_KEY: undefined }, 'x');
    expect(deployed).not.toContain('npm run');
  });
});

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
