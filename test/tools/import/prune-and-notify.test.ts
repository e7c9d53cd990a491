/** `--prune` hides what the file does not name, and `--notify` tells a site's build hook. */

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

/** The secret of Standard Webhooks' own example. */
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const homes = Array.from({ length: 10 }, (_, index) => propertyOf({ slug: `home-${index}` }));

type Received = { headers: IncomingHttpHeaders; body: string; method: string | undefined };

const imports = openMemoryImports();
let hook: Server;
let address = '';
let host = '';
const received: Received[] = [];
const statuses: number[] = [];

beforeAll(async () => {
  await imports.load({ properties: homes });
  hook = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    received.push({ headers: request.headers, body, method: request.method });
    const status = statuses.shift() ?? 200;
    if (status === 0) return request.socket.destroy();
    return response.writeHead(status).end();
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
});

const load = (content: object, ...options: string[]) => imports.load(content, ...options);

const hidden = () =>
  imports
    .rows(`SELECT slug FROM properties WHERE status = 'hidden' ORDER BY slug`)
    .map(({ slug }) => slug);
const lastLine = (text: string) => text.trimEnd().split('\n').at(-1);

describe('--prune', () => {
  it('hides up to a fifth of the public listings, and says how many last', async () => {
    const done = await load({ properties: homes.slice(2) }, '--prune');
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(lastLine(done.stdout)).toBe('Hidden, because the file does not name them: 2 listings');
    expect(hidden()).toEqual(['home-0', 'home-1']);
    const again = await load({ properties: homes.slice(2) }, '--prune');
    expect(lastLine(again.stdout)).toBe('Hidden, because the file does not name them: 0 listings');
    expect(again.stdout).toContain('Nothing changed');
  });

  it('rejects hiding more, with their number, and hides any number as --prune=all', async () => {
    const before = hidden();
    const few = { properties: homes.slice(4, 9) };
    expect(await load(few, '--prune')).toMatchObject({
      code: 1,
      stderr:
        'the file: leaves out 3 of the 8 public listings, more than a fifth: --prune=all hides them all\n1 problem. Nothing was changed.\n',
    });
    expect(hidden()).toEqual(before);
    expect(await load(few, '--prune=all')).toMatchObject({ code: 0, stderr: '' });
    expect(hidden()).toEqual(['home-0', 'home-1', 'home-2', 'home-3', 'home-9']);
  });
});

const event = z.strictObject({
  type: z.literal('feed.changed'),
  changes: z.int(),
  slugs: z.array(z.string()).nullable(),
  resume_cursor: z.string(),
});

describe('--notify', () => {
  it('posts the number of changes and a cursor, signed as Standard Webhooks says', async () => {
    process.env.PUBLISH_HOOK_SECRET = SECRET;
    const changed = homes.slice(5, 8).map((each) => ({ ...each, name: 'Changed' }));
    const done = await load({ properties: changed }, '--notify', address);
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(lastLine(done.stdout)).toBe(`Notified ${host} of 3 changes.`);
    const [request, ...others] = received;
    expect(others).toEqual([]);
    expect(request?.method).toBe('POST');
    const { changes, slugs, resume_cursor } = event.parse(JSON.parse(request?.body ?? ''));
    expect(changes).toBe(3);
    expect(slugs).toEqual(['home-5', 'home-6', 'home-7']);
    const [newest] = imports.rows('SELECT max(change_seq) AS seq FROM properties');
    const text = Buffer.from(resume_cursor, 'base64url').subarray(8).toString();
    const [identity] = imports.rows('SELECT generation FROM database_identity');
    expect(JSON.parse(text)).toEqual([
      2,
      'property-changes',
      '',
      [identity?.generation, newest?.seq, newest?.seq],
    ]);
    const headers = z.record(z.string(), z.string()).parse(request?.headers);
    expect(new Webhook(SECRET).verify(request?.body ?? '', headers)).toMatchObject({ changes });
  });

  it('sends nothing for a change that the feed does not show, and says so, except with --notify-always', async () => {
    const url = 'https://images.example.com/1.jpg';
    const photos = [{ url, section: 'gallery', web_visible: false, web_sort_order: 1 }];
    const changed = homes.slice(5, 8).map((each) => ({ ...each, name: 'Changed', photos }));
    const done = await load({ properties: changed }, '--notify', address);
    expect(done.stdout).toContain('3 changed');
    expect(lastLine(done.stdout)).toBe(`The feed shows nothing new: ${host} was not notified.`);
    expect(received).toEqual([]);
    const always = ['--notify', address, '--notify-always'];
    const again = await load({ properties: changed }, ...always);
    expect(lastLine(again.stdout)).toBe(`Notified ${host} of 0 changes.`);
    expect(event.parse(JSON.parse(received[0]?.body ?? ''))).toMatchObject({ slugs: [] });
    expect(await load({ properties: [] }, '--notify-always')).toMatchObject({ code: 2 });
  });

  it('prints under --dry-run what it would send, and sends nothing', async () => {
    const dry = await load({ properties: homes.slice(5, 6) }, '--notify', address, '--dry-run');
    expect(lastLine(dry.stdout)).toBe(`Would notify ${host} of 1 change.`);
    expect(received).toEqual([]);
  });

  it('names the slugs of changed listings, former ones too, and of more than a hundred none', async () => {
    const slugsOf = async (content: object, ...options: string[]) => {
      const done = await load(content, '--notify', address, ...options);
      expect(done.code).toBe(0);
      return event.parse(JSON.parse(received.pop()?.body ?? '')).slugs;
    };
    const one = propertyOf({ slug: 'first-slug' });
    expect(await slugsOf({ properties: [one] })).toEqual(['first-slug']);
    const renamed = { ...one, slug: 'second-slug' };
    expect(await slugsOf({ properties: [renamed] })).toEqual(['second-slug', 'first-slug']);
    const hidden = { ...renamed, status: 'hidden' };
    expect(await slugsOf({ properties: [hidden] })).toEqual(['second-slug', 'first-slug']);
    const many = Array.from({ length: 101 }, (_, index) => propertyOf({ slug: `many-${index}` }));
    expect(await slugsOf({ properties: many.slice(1) })).toHaveLength(100);
    const renewed = many.map((each) => ({ ...each, name: 'Other' }));
    expect(await slugsOf({ properties: renewed })).toBeNull();
  });

  it('that fails three times under one id is a warning: the import is done', async () => {
    statuses.push(302, 0, 404);
    const changed = [propertyOf({ slug: 'once-more' })];
    const done = await load({ properties: changed }, '--notify', address);
    expect(done).toMatchObject({
      code: 0,
      stderr: `Warning: ${host} was not notified: it responded with 404, three times. The import is done.\n`,
    });
    expect(received).toHaveLength(3);
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(received[0]?.headers['webhook-signature']).toBeUndefined();
    expect(await imports.stored('once-more')).toMatchObject({ name: 'Home' });
  });

  it('takes no secret of another form, and does not show it', async () => {
    process.env.PUBLISH_HOOK_SECRET = 'hunter2';
    const { code, stderr } = await load({ properties: homes }, '--notify', address);
    expect(code).toBe(2);
    expect(stderr).toContain('PUBLISH_HOOK_SECRET must be whsec_ and base64, as Standard Webhooks');
    expect(stderr).not.toContain('hunter2');
  });
});
