/**
 * Stands in for Next.js, which takes minutes to install and to build: serves a site's compiled files with their
 * pages, sitemap and route handler, and keeps what `fetch` got until one of its tags is expired. A program:
 * `PORT=... node next-stand-in.ts` in the directory of the compiled files.
 */

import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import * as z from 'zod';

/** The error that `notFound` and `permanentRedirect` of this stand-in throw. */
const exit = z.object({ status: z.int(), location: z.string().optional() });

const load = createRequire(join(process.cwd(), 'site.js'));
const kept = new Map<string, { body: string; tags: string[] }>();
const fetchFromFeed = globalThis.fetch;

Object.assign(globalThis, {
  expireTag: (expired: string) => {
    for (const [url, { tags }] of kept) if (tags.includes(expired)) kept.delete(url);
  },
  fetch: async (url: string, init: RequestInit & { next: { tags: string[] } }) => {
    const found = kept.get(url);
    if (found) return new Response(found.body);
    const response = await fetchFromFeed(url, init);
    const body = await response.text();
    if (response.status === 200) kept.set(url, { body, tags: init.next.tags });
    return new Response(body, { status: response.status });
  },
});

async function answer(path: string, method: string, headers: Headers, body: string) {
  if (method === 'POST') {
    const { POST } = load(`./app${path}/route.js`);
    const response: Response = await POST(
      new Request(`http://localhost${path}`, { method, headers, body }),
    );
    return { status: response.status, body: await response.text() };
  }
  if (path === '/sitemap.xml') {
    return { status: 200, body: JSON.stringify(await load('./app/sitemap.js').default()) };
  }
  const [, language, , slug] = path.split('/');
  const page = load(`./app/[language]/${slug ? 'listings/[slug]/' : ''}page.js`).default;
  const shown: string | string[] = await page({ params: Promise.resolve({ language, slug }) });
  return { status: 200, body: [shown].flat().join('\n') };
}

createServer(async (request, response) => {
  const headers = new Headers(request.headers as Record<string, string>);
  const { url = '', method = '' } = request;
  try {
    const { status, body } = await answer(url, method, headers, await text(request));
    response.writeHead(status).end(body);
  } catch (thrown) {
    const left = exit.safeParse(thrown);
    if (!left.success) console.error(thrown);
    const { status, location } = left.data ?? { status: 500 };
    response.writeHead(status, location === undefined ? {} : { location }).end();
  }
}).listen(process.env.PORT, () => console.log('ready'));
