/**
 * Checks that the pages of `npm run dev` exist only in development, and only for requests from this
 * computer.
 */

import { describe, expect, it } from 'vitest';
import worker from '../../src/development/dev-worker.ts';
import { type Changes, expectError, expectStatus, send, sendUndescribed } from '../support/http.ts';

const request = (path: string, changes: Changes, init?: RequestInit, host = 'localhost:4000') =>
  sendUndescribed(changes, `http://${host}${path}`, init, worker);

const FILES = [
  '/api/docs/openapi.json',
  '/api/docs/page.css',
  '/api/docs/page.json',
  '/api/docs/scalar.js',
  '/api/docs/start.js',
];

describe('the development Worker', () => {
  const ENVIRONMENT = 'development';

  it.each([
    ['/', 'x-api-key: one&quot;&gt;&lt;script&gt;'],
    ['/api/docs', 'data-api-key="one&quot;&gt;&lt;script&gt;'],
  ])('shows the first API key at %s under a strict security policy', async (path, key) => {
    const API_KEY = 'one"><script>alert(1)</script>, two';
    const response = await request(path, { ENVIRONMENT, API_KEY });
    await expectStatus(response, 200);
    expect(response.headers.get('Content-Type')).toMatch(/^text\/html/);
    expect(response.headers.get('Cache-Control')).toBe('no-store');
    const policy = response.headers.get('Content-Security-Policy');
    expect(policy).toMatch(/^default-src 'none'; .*style-src 'self'.*; frame-ancestors 'none'$/);
    const html = await response.text();
    expect(html).toContain(key);
    expect(html).not.toContain('two');
  });

  it('links from the start page only to pages that exist', async () => {
    const html = await (await request('/', { ENVIRONMENT })).text();
    const paths = new Set(html.match(/(?<=href=")\/[^"]*(?=")/g));
    expect(paths).toContain('/docs');
    // Wrangler serves this page, not the Worker.
    expect(paths.delete('/cdn-cgi/explorer')).toBe(true);
    paths.delete('/docs');
    for (const path of paths) await expectStatus(await request(path, { ENVIRONMENT }), 200);
  });

  it.each(FILES)('serves %s without the API key', async (path) => {
    const API_KEY = 'a-key-that-no-file-has';
    const response = await request(path, { ENVIRONMENT, API_KEY });
    await expectStatus(response, 200);
    expect(await response.text()).not.toContain(API_KEY);
  });
});

describe('the development pages', () => {
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
    'do not exist in %j',
    async (ENVIRONMENT) => {
      const requestAt = (path: string, method = 'GET') =>
        ENVIRONMENT === 'the deployed entry'
          ? send(path, { method })
          : request(path, { ENVIRONMENT }, { method });
      for (const path of PATHS) await expectError(await requestAt(path), 404, 'resource_missing');
      await expectError(await requestAt('/api/docs', 'POST'), 404, 'resource_missing');
    },
  );

  it.each([
    ['127.0.0.1:4000', 200],
    ['[::1]:4000', 200],
    ['192.168.1.7:4000', 404],
    ['localhost.evil.example', 404],
    ['127.0.0.1.evil.example', 404],
  ])('respond to requests for %s with a %i', async (host, status) => {
    for (const path of PATHS.filter((path) => !/casa-marea|docs\/$/.test(path))) {
      await expectStatus(await request(path, development, {}, host), status);
    }
  });

  it.each(['constructor', '__proto__', 'villas'])(
    'include no photo with the unknown name %s',
    async (name) => {
      const path = `/sample-photos/x/1-${name}.webp`;
      await expectStatus(await request(path, development), 404);
    },
  );
});
