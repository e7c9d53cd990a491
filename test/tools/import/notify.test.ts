/** `--notify` tells a site's build hook that the feed shows something new. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

/** The secret of Standard Webhooks' own example. */
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const homes = ['one', 'two', 'three'].map((slug) => propertyOf({ slug }));

const imports = openMemoryImports();
let hook: Server;
let address = '';
let host = '';
const received: (Pick<IncomingMessage, 'headers' | 'method' | 'url'> & { body: string })[] = [];
/** The statuses of the next responses. 0 closes the connection, and 1 never responds. */
const statuses: number[] = [];

beforeAll(async () => {
  await imports.load({ properties: homes });
  hook = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { headers, method, url } = request;
    received.push({ headers, method, url, body });
    const status = statuses.shift() ?? 200;
    if (status === 1) return;
    if (status === 0) return request.socket.destroy();
    return response.writeHead(status, { location: `${address}/elsewhere` }).end();
  }).listen(0, '127.0.0.1');
  await once(hook, 'listening');
  const { port } = z.object({ port: z.int() }).parse(hook.address());
  host = `127.0.0.1:${port}`;
  address = `http://${host}/build`;
});
afterEach(() => {
  received.length = 0;
  statuses.length = 0;
  delete process.env.PUBLISH_HOOK_SECRET;
});
afterAll(() => {
  hook.close();
  hook.closeAllConnections();
});

const event = z.strictObject({
  type: z.literal('feed.changed'),
  changes: z.int(),
  slugs: z.array(z.string()).nullable(),
  resume_cursor: z.string(),
});

/** Imports with `--notify`. Returns the last line of the report, and the messages. */
async function notify(properties: object[], ...options: string[]) {
  const done = await imports.load({ properties }, '--notify', address, ...options);
  expect(done.code).toBe(0);
  const messages = received.splice(0).map(({ body }) => event.parse(JSON.parse(body)));
  return { line: done.stdout.trimEnd().split('\n').at(-1), messages };
}

it('--notify posts the changes and a cursor, signed as Standard Webhooks says', async () => {
  process.env.PUBLISH_HOOK_SECRET = SECRET;
  const changed = homes.map((each) => ({ ...each, name: 'Changed' }));
  const done = await imports.load({ properties: changed }, '--notify', address);
  expect(done).toMatchObject({ code: 0, stderr: '' });
  expect(done.stdout).toMatch(new RegExp(`\nNotified ${host} of 3 changes\\.\n$`));
  const [request, ...others] = received;
  expect([request?.method, others]).toEqual(['POST', []]);
  const { changes, slugs, resume_cursor } = event.parse(JSON.parse(request?.body ?? ''));
  expect([changes, slugs]).toEqual([3, ['one', 'two', 'three']]);
  const [newest] = imports.rows('SELECT max(change_seq) AS seq FROM properties');
  const text = Buffer.from(resume_cursor, 'base64url').subarray(8).toString();
  const [identity] = imports.rows('SELECT generation FROM database_identity');
  const place = [identity?.generation, newest?.seq, newest?.seq];
  expect(JSON.parse(text)).toEqual([2, 'property-changes', '', place]);
  const headers = z.record(z.string(), z.string()).parse(request?.headers);
  expect(new Webhook(SECRET).verify(request?.body ?? '', headers)).toMatchObject({ changes });
});

it('sends nothing for a change that the feed does not show, except with --notify-always, nor in a dry run', async () => {
  const url = 'https://images.example.com/1.jpg';
  const photos = [{ url, section: 'gallery', web_visible: false, web_sort_order: 1 }];
  const changed = homes.map((each) => ({ ...each, name: 'Changed', photos }));
  expect(await notify(changed)).toEqual({
    line: `The feed shows nothing new: ${host} was not notified.`,
    messages: [],
  });
  expect(await notify(changed, '--notify-always')).toMatchObject({
    line: `Notified ${host} of 0 changes.`,
    messages: [{ changes: 0, slugs: [] }],
  });
  expect(
    await notify(
      changed.slice(1).map((each) => ({ ...each, name: 'Again' })),
      '--dry-run',
    ),
  ).toEqual({
    line: `Would notify ${host} of 2 changes.`,
    messages: [],
  });
});

it('names the slugs of changed listings, former ones too, and of more than a hundred none', async () => {
  const slugsOf = async (...properties: object[]) => (await notify(properties)).messages[0]?.slugs;
  const renamed = { ...propertyOf({ slug: 'first-slug' }), slug: 'second-slug' };
  expect(await slugsOf({ ...renamed, slug: 'first-slug' })).toEqual(['first-slug']);
  expect(await slugsOf(renamed)).toEqual(['second-slug', 'first-slug']);
  expect(await slugsOf({ ...renamed, status: 'hidden' })).toEqual(['second-slug', 'first-slug']);
  const many = Array.from({ length: 101 }, (_, index) => propertyOf({ slug: `many-${index}` }));
  expect(await slugsOf(...many.slice(1))).toHaveLength(100);
  expect(await slugsOf(...many.map((each) => ({ ...each, name: 'Other' })))).toBeNull();
});

it('a hook that fails, hangs and redirects gets three attempts under one id, and a warning', async () => {
  statuses.push(0, 1, 302);
  const { timeout } = AbortSignal;
  // Only the second response, which never comes, is awaited for a shorter time.
  const deadlines = vi
    .spyOn(AbortSignal, 'timeout')
    .mockImplementationOnce((ms) => timeout(ms))
    .mockImplementationOnce((ms) => timeout(ms / 100));
  const file = { properties: [propertyOf({ slug: 'once-more' })] };
  expect(await imports.load(file, '--notify', address)).toMatchObject({
    code: 0,
    stderr: `Warning: ${host} was not notified: it responded with 302, three times. The import is done.\n`,
  });
  expect(deadlines.mock.calls).toEqual([[10_000], [10_000], [10_000]]);
  deadlines.mockRestore();
  expect(received.map(({ url }) => url)).toEqual(['/build', '/build', '/build']);
  expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  expect(received[0]?.headers['webhook-signature']).toBeUndefined();
  expect(await imports.stored('once-more')).toMatchObject({ name: 'Home' });
});

it('takes no secret of another form, and does not show it', async () => {
  process.env.PUBLISH_HOOK_SECRET = 'hunter2';
  const { code, stderr } = await imports.load({ properties: homes }, '--notify', address);
  expect(code).toBe(2);
  expect(stderr).toContain('PUBLISH_HOOK_SECRET must be whsec_ and base64, as Standard Webhooks');
  expect(stderr).not.toContain('hunter2');
});
