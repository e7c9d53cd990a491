import { env } from 'cloudflare:workers';
import { describe, expect, it, vi } from 'vitest';
import { sendWith } from '../support/http.ts';

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
    const message = await messageOf('http://localhost:3001', {}, 'test-key-one');
    await env.DB.exec('ALTER TABLE away RENAME TO events');
    expect(message).toContain(HINT);
  });

  it('give no hint once it is set up, or under a public host name', async () => {
    expect(await messageOf('http://localhost:3001', {}, 'wrong')).not.toContain('npm run');
    const deployed = await messageOf('https://api.example.com', { API_KEY: undefined }, 'x');
    expect(deployed).not.toContain('npm run');
  });
});
