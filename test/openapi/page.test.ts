/** The documentation page is there in development. Neither it nor the preview is anywhere else. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { askDevelopment as ask } from '../support/development.ts';
import { expectError, expectStatus, send } from '../support/http.ts';

const FILES = [
  '/api/docs/openapi.json',
  '/api/docs/page.css',
  '/api/docs/page.json',
  '/api/docs/start.js',
  '/api/docs/swagger-ui.css',
  '/api/docs/swagger-ui.js',
];

const documentShape = z.object({
  info: z.object({ description: z.string() }),
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        responses: z.record(
          z.string(),
          z.object({ headers: z.record(z.string(), z.unknown()).default({}) }),
        ),
      }),
    ),
  ),
});

describe('in development', () => {
  const ENVIRONMENT = 'development';

  it('/ leads to the page', async () => {
    const response = await ask('/', { ENVIRONMENT });
    await expectStatus(response, 302);
    expect(response.headers.get('Location')).toBe('/api/docs');
  });

  it('the page holds the first key, for requests to be tried, and no cache may hold the page', async () => {
    const API_KEY = 'one"><script>alert(1)</script>, two';
    const response = await ask('/api/docs', { ENVIRONMENT, API_KEY });
    await expectStatus(response, 200);
    expect(response.headers.get('Content-Type')).toMatch(/^text\/html/);
    expect(response.headers.get('Cache-Control')).toBe('no-store');
    expect(response.headers.get('X-Request-ID')).toMatch(/^req_/);
    const html = await response.text();
    expect(html).toContain('data-api-key="one&quot;&gt;&lt;script&gt;');
    expect(html).not.toContain('two');
  });

  it('the page comes with a policy of its own', async () => {
    const { headers } = await ask('/api/docs', { ENVIRONMENT });
    const policy = headers.get('Content-Security-Policy')?.split('; ') ?? [];
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
  });

  it.each(FILES)('%s is served, and holds no key', async (path) => {
    const API_KEY = 'a-key-that-stands-nowhere';
    const response = await ask(path, { ENVIRONMENT, API_KEY });
    await expectStatus(response, 200);
    expect(await response.text()).not.toContain(API_KEY);
  });

  it('the document of the page names common headers once, the whole one at each response', async () => {
    const responses = async (path: string) => {
      const response = await ask(path, { ENVIRONMENT });
      const { info, paths } = documentShape.parse(await response.json());
      const headers = Object.values(paths)
        .flatMap((methods) => Object.values(methods))
        .flatMap((operation) => Object.values(operation.responses))
        .map((each) => Object.keys(each.headers));
      return { headers, introduction: info.description };
    };
    const whole = await responses('/api/docs/openapi.json');
    const shown = await responses('/api/docs/page.json');
    expect(shown.headers.length).toBe(whole.headers.length);
    for (const name of ['X-Request-ID', 'X-RateLimit-Remaining', 'X-Content-Type-Options']) {
      expect(whole.headers.every((names) => names.includes(name))).toBe(true);
      expect(shown.headers.some((names) => names.includes(name))).toBe(false);
      expect(shown.introduction).toContain(`\`${name}\``);
    }
    expect(shown.headers.flat()).toEqual(expect.arrayContaining(['Retry-After', 'Cache-Control']));
    expect(shown.introduction).not.toContain('undefined');
  });
});

describe('elsewhere', () => {
  const PREVIEW = ['/preview', '/preview/listings/casa-marea', '/preview/preview.css'];
  const PATHS = ['/', '/api/docs', '/api/docs/', ...FILES, ...PREVIEW];

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
});
