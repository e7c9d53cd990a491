/** Tests every example program that calls the service against the same list of faults. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Request } from 'playwright-core';
import { beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { deriveEventId } from '../../support/keys.ts';
import { hasChromium, openBrowser } from '../../support/node/browser.ts';
import {
  API_KEY,
  cancelBooking,
  type Fault,
  skipUnlessRunnable,
  useTestService,
} from '../../support/node/example-service.ts';

const HTML = { 'Content-Type': 'text/html' };
const LOGIN_PAGE = '<title>Sign in</title>\n<form>';

/** Temporary faults, after which a retry succeeds. */
const TRANSIENT: Fault[] = [
  ...(['lost', 'headers', 'body', 'stalls', 'half'] as const),
  { status: 503, headers: { 'Retry-After': '-1' } },
  { status: 503, headers: { 'Retry-After': 'soon' } },
  { status: 429, headers: { 'Retry-After': '0' } },
  { status: 408 },
  { status: 502, headers: HTML, body: '<title>Bad gateway</title>' },
];
/**
 * Responses from a system between the program and the service. A retry would get the same response.
 */
const FOREIGN = [
  { status: 302, headers: { Location: '/login' }, body: 'Found' },
  { status: 200, headers: HTML, body: LOGIN_PAGE },
];
/**
 * Additional foreign responses that an outbox must recognise, such as a response for a different
 * event.
 */
const FOREIGN_TO_OUTBOXES = [
  ...FOREIGN,
  { status: 403, headers: { 'cf-mitigated': 'challenge', ...HTML }, body: LOGIN_PAGE },
  { status: 202, body: '{"object":"event","id":"6bf0acc7-c31d-50b8-a7c2-7bfcd7964fd4"}' },
  { status: 202, body: '[]' },
  { status: 400, headers: HTML, body: 'Bad Request' },
];

const service = useTestService();
/** The folder with copies of the examples that have short time limits. */
let folder = '';

beforeAll(() => {
  folder = service().changeExamples({
    'call.ts': [['TIMEOUT_MS = 40_000', 'TIMEOUT_MS = 1_000']],
    'outbox.py': [['TIMEOUT_SECONDS = 15', 'TIMEOUT_SECONDS = 1']],
    'follow-events.py': [['TIMEOUT_SECONDS = 40', 'TIMEOUT_SECONDS = 1']],
    'outbox.php': [['15_000', '1_000']],
    'live-page.ts': [['TIMEOUT_MS = 3_000', 'TIMEOUT_MS = 2_000']],
    'cards.html': [
      ['TIMEOUT_MS = 10_000', 'TIMEOUT_MS = 2_000'],
      ['http://localhost:3001', service().proxyOrigin],
      ['KEY_OF_THE_SCRIPT', API_KEY],
    ],
  });
  const renewed = `import { getCards, getListing } from './renew-pages.ts';
    console.log((await getCards()).length, (await getListing('casa-ginebrera'))?.slug);`;
  writeFileSync(join(folder, 'renewed.ts'), renewed);
  writeFileSync(join(service().examples, 'renewed.ts'), renewed);
});

const file = (program: string, name: string) => join(service().makeFolder(program), name);
const start = (program: string, ...args: string[]) =>
  service().start(join(folder, program), program, args);
/**
 * Starts an example with its original time limits. With short limits, a slow response would look
 * like a fault.
 */
const startPatiently = (program: string, ...args: string[]) =>
  service().start(program, `patient-${program}`, args);
const count = (table: string, where: string) =>
  service().rows(`SELECT id FROM ${table} WHERE ${where}`).length;

const nameBooking = (program: string) => `日-${program}`;
type Started = ReturnType<typeof start>;
type Program = {
  args?: string[];
  prepare?: (run: typeof start) => Promise<void>;
  /** Waits until the program has done its work, and checks the result. */
  expectDone: (started: Started) => Promise<void>;
};

const expectSuccess = async ({ ended }: Started) => expect(await ended).toEqual([0, null]);

const outbox = (program: string): Program => ({
  async prepare(run) {
    await run(program, nameBooking(program), '2').ended;
  },
  async expectDone({ lines }) {
    const key = `bookings-%E6%97%A5-${program}-created`;
    await expect.poll(() => lines.join()).toMatch(/ (200|202)/);
    expect(count('events', `aggregate_id = '${nameBooking(program)}'`)).toBe(1);
    expect(count('events', `id = '${deriveEventId(key)}'`)).toBe(1);
  },
});

const follower = (): Program => ({
  async expectDone({ lines }) {
    await expect.poll(() => lines).toHaveLength(count('events', 'true'));
  },
});

const PROGRAMS: Record<string, Program> = {
  'outbox.ts': outbox('outbox.ts'),
  'outbox.py': outbox('outbox.py'),
  'outbox.php': outbox('outbox.php'),
  'send-events.ts': {
    args: ['../events.jsonl'],
    async prepare() {
      writeFileSync(
        file('.', 'events.jsonl'),
        JSON.stringify(cancelBooking('日-sent', 'sent-file')),
      );
    },
    async expectDone(started) {
      await expectSuccess(started);
      expect(count('events', `aggregate_id = 'sent-file'`)).toBe(1);
    },
  },
  'follow-events.ts': follower(),
  'follow-events.py': follower(),
  'keep-copy.ts': {
    async expectDone() {
      const copy = file('keep-copy.ts', 'copy.json');
      await expect.poll(() => existsSync(copy)).toBe(true);
      const { listings } = z
        .object({ listings: z.record(z.string(), z.unknown()) })
        .parse(JSON.parse(readFileSync(copy, 'utf8')));
      expect(Object.keys(listings)).toHaveLength(count('properties', `status <> 'hidden'`));
    },
  },
  'build-site.ts': {
    async expectDone(started) {
      await expectSuccess(started);
      const list = readFileSync(file('build-site.ts', 'site/en/index.html'), 'utf8');
      expect(list).toContain('href="/en/listings/casa-ginebrera"');
    },
  },
  'site-files.ts': {
    async expectDone(started) {
      await expectSuccess(started);
      const sitemap = readFileSync(file('site-files.ts', 'site/sitemap.xml'), 'utf8');
      expect(sitemap).toContain('/en/listings/casa-ginebrera');
    },
  },
  'typed-client.ts': {
    async expectDone(started) {
      await expectSuccess(started);
      expect(started.lines.at(-1)).toMatch(/^(pending|idempotent) [0-9a-f-]{36}$/);
    },
  },
  // A program that uses renew-pages.ts.
  'renewed.ts': {
    async expectDone(started) {
      await expectSuccess(started);
      expect(started.lines).toEqual([expect.stringMatching(/^\d+ casa-ginebrera$/)]);
    },
  },
};

/**
 * Programs that use the retries of call.ts. By default, they are not tested with every fault,
 * because outbox.ts already tests these retries. FULL=1 tests them with all faults.
 */
const CALLERS = process.env.FULL
  ? []
  : [
      ...['send-events.ts', 'follow-events.ts', 'keep-copy.ts', 'build-site.ts', 'site-files.ts'],
      ...['typed-client.ts', 'renewed.ts'],
    ];

/**
 * Returns the foreign responses that a program is tested with. Each program of `CALLERS` gets only
 * one of them.
 */
function selectForeign(program: string) {
  if (program.startsWith('outbox')) return FOREIGN_TO_OUTBOXES;
  const caller = CALLERS.indexOf(program);
  if (caller === -1) return FOREIGN;
  return FOREIGN.filter((_, index) => index === caller % FOREIGN.length);
}

describe.each(Object.entries(PROGRAMS))('%s', (program, { args = [], prepare, expectDone }) => {
  skipUnlessRunnable(program);
  const isCaller = CALLERS.includes(program);

  it('stops if a response does not come from the service', async () => {
    await prepare?.(startPatiently);
    for (const fault of selectForeign(program)) {
      // The second response is for the health request of an outbox.
      service().faults.splice(0, Number.POSITIVE_INFINITY, fault, fault);
      const stopped = startPatiently(program, ...args);
      expect(await stopped.ended).toEqual([1, null]);
      const [firstLine] = fault.body.split('\n');
      const mitigated = fault.status === 403 ? ' (cf-mitigated: challenge)' : '';
      expect(stopped.errors.join()).toContain(
        `not a response of the service: ${fault.status}${mitigated} ${firstLine}`,
      );
    }
  });

  it('waits at most an hour before a retry', async ({ skip }) => {
    skip(isCaller, 'FULL=1');
    await prepare?.(startPatiently);
    const later = { status: 503, headers: { 'Retry-After': '9'.repeat(5_000) } };
    service().faults.splice(0, Number.POSITIVE_INFINITY, later);
    const { errors } = startPatiently(program, ...args);
    await expect.poll(() => errors.join()).toContain('next attempt in 3600 s');
  });

  it('reports a missing API_KEY in one line', async ({ skip }) => {
    skip(isCaller, 'FULL=1');
    await prepare?.(startPatiently);
    const none = { API_KEY: '' };
    const started = service().start(program, `patient-${program}`, args, none);
    expect(await started.ended).toEqual([1, null]);
    expect(started.errors.at(-1)).toBe('Set API_KEY to a key of the service.');
  });

  it('completes its work despite transient faults', async () => {
    await prepare?.(start);
    service().faults.push(...TRANSIENT);
    const started = start(program, ...args);
    await expectDone(started);
    // Error output uses a separate pipe, so it can arrive later than the other output.
    const attempts = () => started.errors.join('\n').match(/next attempt in \d+ s/g)?.length;
    await expect.poll(attempts).toBeGreaterThanOrEqual(TRANSIENT.length);
    for (const agent of service().agents) {
      expect(agent).toMatch(/^(bookings-outbox|follow-events|examples)\//);
    }
  });
});

it('live-page.ts keeps serving its latest page while requests fail', async () => {
  const server = service().start(join(folder, 'live-page.ts'), 'live', [], { PORT: '0' });
  await expect.poll(() => server.lines).toHaveLength(1);
  const visit = async () => (await fetch(`${server.lines[0]}/listings/casa-ginebrera`)).text();
  await expect.poll(visit).toMatch(/<h1.*>Stone house/);
  const page = await visit();
  for (const fault of [...TRANSIENT, ...FOREIGN, { status: 404, headers: HTML }]) {
    service().faults.push(fault);
    expect([fault, await visit()]).toEqual([fault, page]);
  }
});

it.skipIf(!hasChromium)(
  'cards.html recovers from every fault and shows the language chosen last',
  async () => {
    const browser = await openBrowser();
    try {
      const page = await browser.newPage();
      await page.route(/^https:\/\/images\.example\.com\//, (route) => route.fulfill({ body: '' }));
      const html = readFileSync(join(folder, 'cards.html'), 'utf8');
      const { siteOrigin } = service();
      service().serveSite((_, response) => {
        response.setHeader('Content-Type', 'text/html').end(html);
      });
      const allowed = { 'Access-Control-Allow-Origin': siteOrigin };
      const withOrigin = (fault: Fault): Fault =>
        typeof fault === 'string' ? fault : { ...fault, headers: { ...fault.headers, ...allowed } };
      service().faults.push(...[...TRANSIENT, ...FOREIGN].map(withOrigin));
      await page.goto(siteOrigin);
      const cards = count('properties', `status = 'listed'`);
      await expect.poll(() => page.locator('main a').count()).toBe(cards);

      // The French response arrives after the Spanish one, unless the page has cancelled the request.
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
