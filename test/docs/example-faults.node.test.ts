/** One list of faults against every program of docs/examples that calls the service. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Request } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { deriveEventId } from '../support/keys.ts';
import { hasChromium, openBrowser } from '../support/node/browser.ts';
import {
  API_KEY,
  eventOf,
  type Fault,
  listen,
  skipUnlessRunnable,
  useRig,
} from '../support/node/example-service.ts';

const HTML = { 'Content-Type': 'text/html' };
const LOGIN_PAGE = '<title>Sign in</title>\n<form>';

/** What a retry cures. */
const PASSING: Fault[] = [
  ...(['lost', 'headers', 'body', 'stalls', 'half'] as const),
  { status: 503, headers: { 'Retry-After': '-1' } },
  { status: 503, headers: { 'Retry-After': 'soon' } },
  { status: 429, headers: { 'Retry-After': '0' } },
  { status: 408 },
  { status: 502, headers: HTML, body: '<title>Bad gateway</title>' },
];
/** What a retry does not cure: something else responds in the place of the service. */
const FOREIGN = [
  { status: 302, headers: { Location: '/login' }, body: 'Found' },
  { status: 200, headers: HTML, body: LOGIN_PAGE },
];
/** The outboxes also tell that a response is not their event. */
const FOREIGN_TO_OUTBOXES = [
  ...FOREIGN,
  { status: 403, headers: { 'cf-mitigated': 'challenge', ...HTML }, body: LOGIN_PAGE },
  { status: 202, body: '{"object":"event","id":"6bf0acc7-c31d-50b8-a7c2-7bfcd7964fd4"}' },
  { status: 202, body: '[]' },
  { status: 400, headers: HTML, body: 'Bad Request' },
];

const rig = useRig();
let folder = '';

beforeAll(() => {
  // A response that stalls is given up after a second or two.
  folder = rig().variantOf({
    'call.ts': [['TIMEOUT_MS = 40_000', 'TIMEOUT_MS = 1_000']],
    'outbox.py': [['TIMEOUT_SECONDS = 15', 'TIMEOUT_SECONDS = 1']],
    'follow-events.py': [['TIMEOUT_SECONDS = 40', 'TIMEOUT_SECONDS = 1']],
    'outbox.php': [['15_000', '1_000']],
    'live-page.ts': [['TIMEOUT_MS = 3_000', 'TIMEOUT_MS = 2_000']],
    'cards.html': [
      ['TIMEOUT_MS = 10_000', 'TIMEOUT_MS = 2_000'],
      ['http://localhost:3001', rig().origin],
      ['KEY_OF_THE_SCRIPT', API_KEY],
    ],
  });
  const renewed = `import { getCards, getListing } from './renew-pages.ts';
    console.log((await getCards()).length, (await getListing('casa-ginebrera'))?.slug);`;
  writeFileSync(join(folder, 'renewed.ts'), renewed);
  writeFileSync(join(rig().examples, 'renewed.ts'), renewed);
});

const file = (program: string, name: string) => join(rig().folderOf(program), name);
const start = (program: string, ...args: string[]) =>
  rig().start(join(folder, program), program, args);
/** With the time limits of the example: no slow response may take the place of a fault. */
const startPatiently = (program: string, ...args: string[]) =>
  rig().start(program, `patient-${program}`, args);
const countWhere = (table: string, where: string) =>
  rig().project.rows(`SELECT id FROM ${table} WHERE ${where}`).length;

const bookingOf = (program: string) => `日-${program}`;
type Started = ReturnType<typeof start>;
type Program = {
  args?: string[];
  /** Makes what the program needs. */
  prepare?: (run: typeof start) => Promise<void>;
  /** Passes when the program has done its work. */
  hasDone: (started: Started) => Promise<void>;
};

const hasEnded = async ({ ended }: Started) => expect(await ended).toEqual([0, null]);

const outbox = (program: string): Program => ({
  async prepare(run) {
    await run(program, bookingOf(program), '2').ended;
  },
  async hasDone({ lines }) {
    const key = `bookings-%E6%97%A5-${program}-created`;
    await expect.poll(() => lines.join()).toMatch(/ (200|202)/);
    expect(countWhere('events', `aggregate_id = '${bookingOf(program)}'`)).toBe(1);
    expect(countWhere('events', `id = '${deriveEventId(key)}'`)).toBe(1);
  },
});

const follower = (): Program => ({
  async hasDone({ lines }) {
    await expect.poll(() => lines).toHaveLength(countWhere('events', 'true'));
  },
});

const PROGRAMS: Record<string, Program> = {
  'outbox.ts': outbox('outbox.ts'),
  'outbox.py': outbox('outbox.py'),
  'outbox.php': outbox('outbox.php'),
  'send-events.ts': {
    args: ['../events.jsonl'],
    async prepare() {
      writeFileSync(file('.', 'events.jsonl'), JSON.stringify(eventOf('日-sent', 'sent')));
    },
    async hasDone(started) {
      await hasEnded(started);
      expect(countWhere('events', `aggregate_id = 'sent'`)).toBe(1);
    },
  },
  'follow-events.ts': follower(),
  'follow-events.py': follower(),
  'keep-copy.ts': {
    async hasDone() {
      const copy = file('keep-copy.ts', 'copy.json');
      await expect.poll(() => existsSync(copy)).toBe(true);
      const { listings } = z
        .object({ listings: z.record(z.string(), z.unknown()) })
        .parse(JSON.parse(readFileSync(copy, 'utf8')));
      expect(Object.keys(listings)).toHaveLength(countWhere('properties', `status <> 'hidden'`));
    },
  },
  'build-site.ts': {
    async hasDone(started) {
      await hasEnded(started);
      const list = readFileSync(file('build-site.ts', 'site/en/index.html'), 'utf8');
      expect(list).toContain('href="/en/listings/casa-ginebrera"');
    },
  },
  'site-files.ts': {
    async hasDone(started) {
      await hasEnded(started);
      const sitemap = readFileSync(file('site-files.ts', 'site/sitemap.xml'), 'utf8');
      expect(sitemap).toContain('/en/listings/casa-ginebrera');
    },
  },
  'typed-client.ts': {
    async hasDone(started) {
      await hasEnded(started);
      expect(started.lines.at(-1)).toMatch(/^(pending|idempotent) [0-9a-f-]{36}$/);
    },
  },
  // renew-pages.ts as a program.
  'renewed.ts': {
    async hasDone(started) {
      await hasEnded(started);
      expect(started.lines).toEqual([expect.stringMatching(/^\d+ casa-ginebrera$/)]);
    },
  },
};

/**
 * Programs with the retries of call.ts, as outbox.ts has them, which is tested with all faults. The
 * long form tests these with all of them too.
 */
const CALLERS = process.env.FULL
  ? []
  : [
      ...['send-events.ts', 'follow-events.ts', 'keep-copy.ts', 'build-site.ts', 'site-files.ts'],
      ...['typed-client.ts', 'renewed.ts'],
    ];

/** Responses at which a program stops. A program of call.ts gets one or the other. */
function foreignFor(program: string) {
  if (program.startsWith('outbox')) return FOREIGN_TO_OUTBOXES;
  const at = CALLERS.indexOf(program);
  return at === -1 ? FOREIGN : FOREIGN.filter((_, index) => index === at % FOREIGN.length);
}

describe.each(Object.entries(PROGRAMS))('%s', (program, { args = [], prepare, hasDone }) => {
  skipUnlessRunnable(program);
  const isCaller = CALLERS.includes(program);

  it('stops at a response that is not of the service, and asks again after an hour at most', async () => {
    await prepare?.(startPatiently);
    for (const fault of foreignFor(program)) {
      // The second one is for the health request of an outbox.
      rig().faults.splice(0, Number.POSITIVE_INFINITY, fault, fault);
      const stopped = startPatiently(program, ...args);
      expect(await stopped.ended).toEqual([1, null]);
      const [firstLine] = fault.body.split('\n');
      const mitigated = fault.status === 403 ? ' (cf-mitigated: challenge)' : '';
      expect(stopped.errors.join()).toContain(
        `not a response of the service: ${fault.status}${mitigated} ${firstLine}`,
      );
    }
    if (isCaller) return;
    const later = { status: 503, headers: { 'Retry-After': '9'.repeat(5_000) } };
    rig().faults.splice(0, Number.POSITIVE_INFINITY, later);
    const { errors } = startPatiently(program, ...args);
    await expect.poll(() => errors.join()).toContain('next attempt in 3600 s');
  });

  it('says in one sentence that API_KEY is absent', async ({ skip }) => {
    skip(isCaller, 'FULL=1');
    await prepare?.(startPatiently);
    const none = { API_KEY: '' };
    const started = rig().start(program, `patient-${program}`, args, none);
    expect(await started.ended).toEqual([1, null]);
    expect(started.errors.at(-1)).toBe('Set API_KEY to a key of the service.');
  });

  it('does its work after every fault that passes', async () => {
    await prepare?.(start);
    rig().faults.push(...PASSING);
    const started = start(program, ...args);
    await hasDone(started);
    // Its errors come by another pipe, which may be read later.
    const attempts = () => started.errors.join('\n').match(/next attempt in \d+ s/g)?.length;
    await expect.poll(attempts).toBeGreaterThanOrEqual(PASSING.length);
    for (const agent of rig().agents) {
      expect(agent).toMatch(/^(bookings-outbox|follow-events|examples)\//);
    }
  });
});

it('live-page.ts shows its latest page at every fault', async () => {
  const server = rig().start(join(folder, 'live-page.ts'), 'live', [], { PORT: '0' });
  await expect.poll(() => server.lines).toHaveLength(1);
  const visit = async () => (await fetch(`${server.lines[0]}/listings/casa-ginebrera`)).text();
  await expect.poll(visit).toMatch(/<h1.*>Stone house/);
  const page = await visit();
  for (const fault of [...PASSING, ...FOREIGN, { status: 404, headers: HTML }]) {
    rig().faults.push(fault);
    expect([fault, await visit()]).toEqual([fault, page]);
  }
});

it.skipIf(!hasChromium)(
  'cards.html shows its cards after every fault, and the language that was chosen last',
  async () => {
    const browser = await openBrowser();
    try {
      const page = await browser.newPage();
      await page.route('https://images.example.com/**', (route) => route.fulfill({ body: '' }));
      const html = readFileSync(join(folder, 'cards.html'), 'utf8');
      const site = await listen((_, response) => {
        response.setHeader('Content-Type', 'text/html').end(html);
      });
      const allowed = { 'Access-Control-Allow-Origin': site };
      const withOrigin = (fault: Fault): Fault =>
        typeof fault === 'string' ? fault : { ...fault, headers: { ...fault.headers, ...allowed } };
      rig().faults.push(...[...PASSING, ...FOREIGN].map(withOrigin));
      await page.goto(site);
      const cards = countWhere('properties', `status = 'listed'`);
      await expect.poll(() => page.locator('main a').count()).toBe(cards);

      // The response in French comes after the one in Spanish, if the page still waits for it.
      const released = Promise.withResolvers<void>();
      const settled = Promise.withResolvers<void>();
      await page.route('**/*locale=fr*', async (route) => {
        await released.promise;
        await route.continue().catch(() => undefined);
      });
      const settle = (request: Request) => {
        if (request.url().includes('locale=fr')) settled.resolve();
      };
      page.on('requestfinished', settle).on('requestfailed', settle);
      await page.click('button[lang=fr]');
      await page.click('button[lang=es]');
      await page.waitForSelector('ul[lang=es]');
      released.resolve();
      await settled.promise;
      await page.evaluate('new Promise((resolve) => setTimeout(resolve, 500))');
      expect(await page.locator('main ul').getAttribute('lang')).toBe('es');
    } finally {
      await browser.close();
    }
  },
);
