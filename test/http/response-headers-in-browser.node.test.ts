/** CORS in a real browser: Debian's Chromium, where it is installed. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { hasChromium, type Opened, openSamples } from '../support/node/browser.ts';

/** What libraries for monitoring and caching add to each request of a page, and an invented header. */
const ADDED = {
  baggage: 'sentry-environment=production',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  'Cache-Control': 'no-cache',
  'X-Invented': '1',
};

describe.skipIf(!hasChromium)('in Chromium', () => {
  let opened: Opened;
  let port: number;
  // A page of another address space would need a visitor's permission to reach this machine.
  const site = createServer((_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/html' }).end('<title>A site</title>');
  });
  beforeAll(async () => {
    opened = await openSamples();
    await once(site.listen(0), 'listening');
    port = z.object({ port: z.int() }).parse(site.address()).port;
  });
  afterAll(async () => {
    site.close();
    await opened?.close();
  });

  // test/http/conventions.test.ts has the headers for other origins, and for cookies.
  it('a page of an allowed origin reads the feed with headers that libraries add', async () => {
    const { page, service } = opened;
    await page.goto(`http://localhost:${port}/`);
    const headers = { ...ADDED, 'x-api-key': service.vars.get('API_KEY') };
    const call = [`${service.origin}/api/v1/web/property-cards?limit=1`, { headers }];
    const response = `fetch(...${JSON.stringify(call)})`;
    expect(await page.evaluate(`${response}.then(({ status }) => status)`)).toBe(200);
    expect(opened.complaints).toEqual([]);
  });
});
