/** Tests of `--notify`, which calls a site's build hook if something new appears in the feed. */

import { stripVTControlCharacters } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { importListings } from '../../../tools/import/import.ts';
import { readListingsFile } from '../../../tools/import/read/json.ts';
import { parseHook } from '../../../tools/import/report/notify.ts';
import { report } from '../../../tools/import/report/report.ts';
import { makeProperty } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

/** The example secret from the Standard Webhooks specification. */
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const ADDRESS = 'https://site.example.com/build';
const homes = ['one', 'two', 'three'].map((slug) => makeProperty({ slug }));

const imports = openMemoryImports();
const hook = vi.spyOn(globalThis, 'fetch');
beforeEach(async () => {
  imports.clear();
  await imports.load({ properties: homes });
  hook.mockImplementation(async () => new Response());
});
afterEach(() => {
  hook.mockReset();
  vi.unstubAllEnvs();
});

const message = z.object({ body: z.string(), headers: z.record(z.string(), z.string()) });
const event = z.strictObject({
  type: z.literal('feed.changed'),
  changes: z.int(),
  slugs: z.array(z.string()).nullable(),
  resume_cursor: z.string(),
});

/**
 * Imports a file with `--notify`. Returns the last line of the report and the events that the hook
 * received.
 */
async function notify(file: object, ...options: string[]) {
  hook.mockClear();
  const done = await imports.load(file, '--notify', ADDRESS, ...options);
  expect(done).toMatchObject({ code: 0, stderr: '' });
  const bodies = hook.mock.calls.map(([, init]) => message.parse(init).body);
  const events = bodies.map((body) => event.parse(JSON.parse(body)));
  return { line: done.stdout.trimEnd().split('\n').at(-1), events };
}

it('posts the changes and a cursor, signed as Standard Webhooks specifies', async () => {
  vi.stubEnv('PUBLISH_HOOK_SECRET', SECRET);
  const { line, events } = await notify({
    properties: homes.map((home) => ({ ...home, name: 'Changed' })),
  });
  expect(line).toBe('Notified site.example.com of 3 changes.');
  const slugs = ['one', 'two', 'three'];
  expect(events).toEqual([expect.objectContaining({ changes: 3, slugs })]);
  const [newest] = imports.rows('SELECT max(change_seq) AS seq FROM properties');
  const [identity] = imports.rows('SELECT generation FROM database_identity');
  const text = Buffer.from(events[0]?.resume_cursor ?? '', 'base64url')
    .subarray(8)
    .toString();
  const position = [identity?.generation, newest?.seq, newest?.seq];
  expect(JSON.parse(text)).toEqual([2, 'property-changes', '', position]);
  const [[url, init] = []] = hook.mock.calls;
  expect([String(url), init?.method, init?.redirect]).toEqual([ADDRESS, 'POST', 'manual']);
  const { body, headers } = message.parse(init);
  expect(new Webhook(SECRET).verify(body, headers)).toEqual(events[0]);
});

const changed = (fields: object, count = homes.length) => ({
  properties: homes.slice(0, count).map((home) => ({ ...home, ...fields })),
});
const unseen = changed({
  photos: [
    {
      url: 'https://images.example.com/1.jpg',
      section: 'gallery',
      web_visible: false,
      web_sort_order: 1,
    },
  ],
});
const coast = { locations: [{ slug: 'coast', name: { en: 'The coast' } }] };
const manyHomes = Array.from({ length: 101 }, (_, index) =>
  makeProperty({ slug: `many-${index}` }),
);
const manySlugs = manyHomes.slice(1).map(({ slug }) => slug);
const NOTHING = 'The feed shows nothing new: site.example.com';
const NOTIFIED = 'Notified site.example.com of';

it.each<[title: string, file: object, option: string, line: string, ...events: object[]]>([
  ['a change that the feed does not show', unseen, '--many', `${NOTHING} was not notified.`],
  ['a dry run of such a change', unseen, '--dry-run', `${NOTHING} would not be notified.`],
  [
    'such a change with --notify-always',
    unseen,
    '--notify-always',
    `${NOTIFIED} 0 changes.`,
    { changes: 0, slugs: null },
  ],
  [
    'a dry run',
    changed({ name: 'New' }, 2),
    '--dry-run',
    'Would notify site.example.com of 2 changes.',
  ],
  [
    'a change of locations only',
    coast,
    '--many',
    `${NOTIFIED} changed locations.`,
    { changes: 0, slugs: [] },
  ],
  [
    'a changed slug',
    changed({ slug: 'second' }, 1),
    '--many',
    `${NOTIFIED} 1 change.`,
    { changes: 1, slugs: ['second', 'one'] },
  ],
  [
    'a changed slug of a listing that becomes hidden',
    changed({ slug: 'secret', status: 'hidden' }, 1),
    '--many',
    `${NOTIFIED} 1 change.`,
    { changes: 1, slugs: ['one'] },
  ],
  [
    '100 new listings',
    { properties: manyHomes.slice(1) },
    '--many',
    `${NOTIFIED} 100 changes.`,
    { changes: 100, slugs: manySlugs },
  ],
  [
    'more than 100 new listings',
    { properties: manyHomes },
    '--many',
    `${NOTIFIED} 101 changes.`,
    { changes: 101, slugs: null },
  ],
])('sends the right slugs to the hook for %s', async (_, file, option, line, ...events) => {
  const sent = await notify(file, option);
  expect(sent).toEqual({ line, events: events.map((fields) => expect.objectContaining(fields)) });
});

const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });

// These errors have the form in which fetch throws them.
it.each<[what: string, respond: () => Promise<Response>, failure: string]>([
  ['redirects', async () => new Response(null, { status: 302 }), 'it responded with 302'],
  ['hangs', () => Promise.reject(new DOMException('', 'TimeoutError')), 'no response'],
  [
    'cannot be reached',
    () => Promise.reject(new TypeError('fetch failed', { cause: refused })),
    'no connection (ECONNREFUSED)',
  ],
])('warns after three attempts to call a hook that %s', async (_what, respond, failure) => {
  const deadlines = vi.spyOn(AbortSignal, 'timeout');
  const errors = vi.spyOn(console, 'error').mockReturnValue();
  hook.mockImplementation(respond);
  const outcome = await importListings(
    readListingsFile(Buffer.from(JSON.stringify(changed({ name: 'New' })))),
    {
      database: imports.database,
      publicSiteUrl: 'https://www.example.com',
      isDryRun: true,
      onProgress: () => undefined,
    },
  );
  const fastHook = { ...parseHook(ADDRESS, undefined), retryPausesMs: [0, 0] };
  await report(outcome, { isDryRun: false, listsAll: false, hook: fastHook });
  const printed = errors.mock.calls.map(([line]) => stripVTControlCharacters(line));
  errors.mockRestore();
  expect(printed).toEqual([
    `Warning: site.example.com was not notified: ${failure}, three times. The import is done.`,
  ]);
  expect(deadlines.mock.calls).toEqual([[10_000], [10_000], [10_000]]);
  deadlines.mockRestore();
  const sent = hook.mock.calls.map(([, init]) => message.parse(init).headers);
  expect(new Set(sent.map((headers) => headers['webhook-id'])).size).toBe(1);
  expect(sent[0]).not.toHaveProperty('webhook-signature');
});

it('waits one second before the first retry and three before the second', () => {
  expect(parseHook(ADDRESS, SECRET).retryPausesMs).toEqual([1_000, 3_000]);
});

it('rejects a malformed secret without printing it', async () => {
  vi.stubEnv('PUBLISH_HOOK_SECRET', 'hunter2');
  const { code, stderr } = await imports.load({ properties: homes }, '--notify', ADDRESS);
  expect(code).toBe(2);
  expect(stderr).toContain('PUBLISH_HOOK_SECRET must be whsec_ and base64, as Standard Webhooks');
  expect(stderr).not.toContain('hunter2');
});
