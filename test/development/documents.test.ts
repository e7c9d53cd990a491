/** Tests the pages on which `npm run dev` shows the documents. */

import { describe, expect, it } from 'vitest';
import worker from '../../src/development/dev-worker.ts';
import { expectError, expectStatus, sendUndescribed } from '../support/http.ts';
import { DOCUMENTS } from '../support/markdown.ts';

const vars = { ENVIRONMENT: 'development', API_KEY: 'running-key' };

const request = (path: string, headers: Record<string, string> = {}) =>
  sendUndescribed(vars, `http://localhost:4000${path}`, { headers }, worker);

async function getPage(path: string): Promise<string> {
  const response = await request(path);
  await expectStatus(response, 200);
  return response.text();
}

const targetsIn = (html: string) =>
  [...html.matchAll(/ (?:href|src)="([^"]*)"/g)].map(([, target = '']) => target);

const unescaped = (html: string) =>
  html
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

it.each([...DOCUMENTS, 'CHANGELOG.md'])(
  '%s has a page and is linked from the index',
  async (path) => {
    expect(targetsIn(await getPage('/docs/README.md'))).toContain(`/${path}`);
    const html = await getPage(`/${path}`);
    expect(html).toContain('<h1 id=');
    // A screen reader would announce a heading without text.
    expect(html).not.toContain('<th></th>');
    // No Markdown syntax is left.
    expect(html.replaceAll(/<code>[\s\S]*?<\/code>/g, '')).not.toMatch(/\]\(|^\||\*\*/m);
  },
);

const PROGRAMS = import.meta.glob<string>('../../docs/examples/*', {
  query: '?raw',
  import: 'default',
  eager: true,
});

it.each(Object.entries(PROGRAMS))('%s has a page with a copy button', async (file, text) => {
  const path = file.replace('../..', '');
  const html = await getPage(path);
  expect(html).toContain(`>${path.replace('/docs/examples/', '')}</a></h1>`);
  const [, code = ''] =
    /<code>([\s\S]*?)<\/code><\/pre><button type="button" class="copy">/.exec(html) ?? [];
  expect(`${unescaped(code)}\n`).toBe(text.replaceAll('localhost:3001', 'localhost:4000'));
  expect(html).toContain(`<a href="${path}" aria-current="page">`);
});

it('links to programs and folders open their pages', async () => {
  expect(targetsIn(await getPage('/docs/guides/sending-events.md'))).toContain(
    '/docs/examples/outbox.ts',
  );
  expect(targetsIn(await getPage('/docs/README.md'))).toContain('/docs/examples/call.ts');
  expect(await getPage('/docs/examples')).toBe(await getPage('/docs/examples/call.ts'));
});

it('event types have a page with their fields and commands that send samples', async () => {
  const path = '/docs/reference/event-types';
  expect(targetsIn(await getPage('/'))).toContain(path);
  for (const from of ['/docs/README.md', '/docs/reference/events.md']) {
    const [text = ''] = (await getPage(from)).split('<nav id="documents"');
    expect(targetsIn(text)).toContain(`${path}.md`);
  }
  const html = await getPage(path);
  const parts = html.split('<h2 id="').map((part) => part.split('"')[0]);
  expect(parts.slice(1, 4)).toEqual(['bookingcreated', 'bookingupdated', 'bookingcancelled']);
  expect(html).toContain(
    '<tr><td><code>guests</code></td><td>The guests, or their number. As the sender wrote it: a whole number such as 2,',
  );
  expect(unescaped(html)).toContain(`curl -s http://localhost:4000/api/public/events/ingest \\
  -H 'x-api-key: running-key' \\
  -H 'Content-Type: application/json' \\
  -H 'Idempotency-Key: bk_1001-booking.cancelled' \\
  -d '{
  "event_type": "booking.cancelled",
  "aggregate_id": "bk_1001",
  "aggregate_type": "booking",
  "payload": {`);
});

it('links on every page point to pages and headings that exist', async () => {
  const pages = new Map<string, string>();
  for (const path of DOCUMENTS) pages.set(`/${path}`, await getPage(`/${path}`));
  const statuses = new Map<string, number>();
  for (const [page, html] of pages) {
    for (const target of targetsIn(html).filter((link) => /^[/#]/.test(link))) {
      const { pathname, hash } = new URL(target, `http://localhost:4000${page}`);
      if (hash !== '')
        expect([page, pages.get(pathname) ?? html]).toEqual([
          page,
          expect.stringContaining(`id="${hash.slice(1)}"`),
        ]);
      if (!statuses.has(pathname)) {
        const { status } = await request(pathname);
        statuses.set(pathname, status);
      }
    }
  }
  statuses.delete('/docs');
  expect([...statuses].filter(([, status]) => status !== 200)).toEqual([]);
});

it('commands contain the origin and the API key of the running service', async () => {
  const html = await getPage('/docs/guides/quickstart.md');
  expect(html).toContain(
    '<code>curl -s &#39;http://localhost:4000/api/v1/web/properties?limit=2&amp;locale=en&#39; -H &#39;x-api-key: running-key&#39;</code></pre><button type="button" class="copy">',
  );
  expect(html).not.toMatch(/3001|dev_key_/);
});

it('sample responses have no copy button', async () => {
  const html = await getPage('/README.md');
  expect(html).toMatch(/\{&quot;object&quot;:&quot;list&quot;.*<\/pre><\/div>/);
});

describe.each(['/docs/none', '/none', '/constructor'])('an unknown path such as %s', (path) => {
  it('shows a browser the index of the documents', async () => {
    const response = await request(path, { Accept: 'text/html,*/*;q=0.8' });
    await expectStatus(response, 404);
    const html = await response.text();
    expect(html).toContain(`There is no page <code>${path}</code>`);
    expect(targetsIn(html)).toContain('/docs/guides/quickstart.md');
  });

  it.each([{}, { Accept: '*/*' }, { Accept: 'application/json' }])(
    'returns an API error to a client that sends %j',
    async (headers) => {
      await expectError(await request(path, headers), 404, 'resource_missing');
    },
  );
});

it.each(['GET', 'POST'])(
  '%s with a double slash before an API path returns an API error',
  async (method) => {
    const url = 'http://localhost:4000//api/public/events/ingest';
    const response = await sendUndescribed(vars, url, { method }, worker);
    await expectError(response, 404, 'resource_missing');
  },
);

it('document pages work without .md and link to the previous and the next document', async () => {
  const html = await getPage('/docs/guides/building-a-site');
  expect(html).toBe(await getPage('/docs/guides/building-a-site.md'));
  expect(html).toMatch(/Previous: <a href="\/docs\/guides\/quickstart.md">Quickstart<\/a>/);
  expect(html).toMatch(/Next: <a href="\/docs\/guides\/site-recipes.md">/);
});

it('/docs redirects to the index', async () => {
  const { status, headers } = await request('/docs');
  expect([status, headers.get('Location')]).toEqual([302, '/docs/README.md']);
});
