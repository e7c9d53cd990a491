/** The API page is there in development. Neither it nor the preview is anywhere else. */

import { describe, expect, it } from 'vitest';
import worker from '../../src/development/dev-worker.ts';
import { type Changes, expectError, expectStatus, send, sendUndescribed } from '../support/http.ts';

const ask = (path: string, changes: Changes, init?: RequestInit, host = 'localhost:4000') =>
  sendUndescribed(changes, `http://${host}${path}`, init, worker);

const FILES = [
  '/api/docs/openapi.json',
  '/api/docs/page.css',
  '/api/docs/page.json',
  '/api/docs/scalar.js',
  '/api/docs/start.js',
];

describe('in development', () => {
  const ENVIRONMENT = 'development';

  it.each([
    ['/', 'x-api-key: one&quot;&gt;&lt;script&gt;'],
    ['/api/docs', 'data-api-key="one&quot;&gt;&lt;script&gt;'],
  ])('%s has the first key, its own policy, and no cache may store it', async (path, key) => {
    const API_KEY = 'one"><script>alert(1)</script>, two';
    const response = await ask(path, { ENVIRONMENT, API_KEY });
    await expectStatus(response, 200);
    expect(response.headers.get('Content-Type')).toMatch(/^text\/html/);
    expect(response.headers.get('Cache-Control')).toBe('no-store');
    const policy = response.headers.get('Content-Security-Policy');
    expect(policy).toMatch(/^default-src 'none'; .*style-src 'self'.*; frame-ancestors 'none'$/);
    const html = await response.text();
    expect(html).toContain(key);
    expect(html).not.toContain('two');
  });

  it('/ leads to pages that exist', async () => {
    const html = await (await ask('/', { ENVIRONMENT })).text();
    const paths = new Set(html.match(/(?<=href=")\/[^"]*(?=")/g));
    expect(paths).toContain('/docs');
    // Wrangler serves it.
    expect(paths.delete('/cdn-cgi/explorer')).toBe(true);
    paths.delete('/docs');
    for (const path of paths) await expectStatus(await ask(path, { ENVIRONMENT }), 200);
  });

  it.each(FILES)('%s is served, and has no key', async (path) => {
    const API_KEY = 'a-key-that-no-file-has';
    const response = await ask(path, { ENVIRONMENT, API_KEY });
    await expectStatus(response, 200);
    expect(await response.text()).not.toContain(API_KEY);
  });
});

describe('elsewhere', () => {
  const development = { ENVIRONMENT: 'development' };
  const PREVIEW = ['/preview', '/preview/listings/casa-marea', '/preview/preview.css'];
  const PATHS = [
    '/',
    '/docs/guides/apps.md',
    '/README.md',
    '/sample-photos/home/01-villa.webp',
    '/api/docs',
    '/api/docs/',
    ...FILES,
    ...PREVIEW,
  ];

  it.each(['production', 'staging', '', 'Development', 'the deployed entry'])(
    'there is no page and no file of it: %j',
    async (ENVIRONMENT) => {
      const request = (path: string, method = 'GET') =>
        ENVIRONMENT === 'the deployed entry'
          ? send(path, { method })
          : ask(path, { ENVIRONMENT }, { method });
      for (const path of PATHS) await expectError(await request(path), 404, 'resource_missing');
      await expectError(await request('/api/docs', 'POST'), 404, 'resource_missing');
    },
  );

  it.each([
    ['127.0.0.1:4000', 200],
    ['[::1]:4000', 200],
    ['192.168.1.7:4000', 404],
    ['localhost.evil.example', 404],
    ['127.0.0.1.evil.example', 404],
  ])('in development, at %s, every page is a %i', async (host, status) => {
    for (const path of PATHS.filter((each) => !/casa-marea|docs\/$/.test(each))) {
      await expectStatus(await ask(path, development, {}, host), status);
    }
  });

  it.each(['constructor', '__proto__', 'villas'])('the photo %s is a 404', async (name) => {
    const path = `/sample-photos/x/1-${name}.webp`;
    await expectStatus(await ask(path, development), 404);
  });
});
