/**
 * Defines variants of the service with one plausible mistake each. The simulation must reveal every
 * mistake, because a check that never fails proves nothing.
 */

import type { firstWithin } from '../../src/deadline.ts';
import type { findCachedResponse } from '../../src/events/replay-cache.ts';
import type { storeWithKeys } from '../../src/events/store.ts';
import type {
  acquirePermit,
  addReport,
  isInWindow,
} from '../../src/rate-limit/counter-arithmetic.ts';
import type { Mistake } from './bundle.ts';

/** Maps the description of a mistake to the mistake. */
type Variants = Record<string, Mistake>;

/** Makes a mistake that replaces an exported function of a file with the result of `makeWrong`. */
const badFunction =
  <F>(file: string, name: string) =>
  (makeWrong: (real: F) => F): Mistake => ({
    file,
    change: (source) => `${replaceIn(source, `function ${name}`, `function real_${name}`)}
      export const ${name} = makeWrong(real_${name});`,
    makeWrong,
  });

/**
 * Injects a mistake by replacing a piece of source text. Use it for code that cannot be wrapped, such as a private method.
 */
const badText =
  (file: string) =>
  (right: string, wrong: string): Mistake => ({
    file,
    change: (source) => replaceIn(source, right, wrong),
  });

function replaceIn(source: string, right: string, wrong: string): string {
  if (!source.includes(right)) throw new Error(`the source does not have ${right}`);
  return source.replace(right, wrong);
}

const badAccept = badFunction<typeof storeWithKeys>('src/events/store.ts', 'storeWithKeys');
const badReplay = badFunction<typeof findCachedResponse>(
  'src/events/replay-cache.ts',
  'findCachedResponse',
);

export const BAD_EVENTS: Variants = {
  'the event is inserted in a separate step after the key is checked': badAccept(
    (accept) => async (database, requests, context) => {
      const keys = JSON.stringify(requests.map(({ keyId }) => keyId));
      const existingEvent = await database
        .prepare('SELECT 1 FROM events WHERE key_id IN (SELECT value FROM json_each(?))')
        .bind(keys)
        .first();
      const keysValidSince = existingEvent ? context.keysValidSince : Number.MAX_SAFE_INTEGER;
      return accept(database, requests, { ...context, keysValidSince });
    },
  ),
  'the events of a batch are stored one by one': badAccept(
    (accept) => async (database, requests, context) => {
      const decisions = [];
      for (const request of requests) {
        decisions.push(...(await accept(database, [request], context)));
      }
      return decisions;
    },
  ),
  'a cached response stays valid for as long as KV stores it': badReplay(
    (find) => (cache, identity, context) =>
      find(cache, identity, { ...context, keysValidSince: 0 }),
  ),
};

const ARITHMETIC = 'src/rate-limit/counter-arithmetic.ts';
const badReport = badFunction<typeof addReport>(ARITHMETIC, 'addReport');
const badPermit = badFunction<typeof acquirePermit>(ARITHMETIC, 'acquirePermit');
const badWindow = badFunction<typeof isInWindow>(ARITHMETIC, 'isInWindow');
const badLine = badText(ARITHMETIC);
const badMethod = badText('src/rate-limit/isolate-counter.ts');
const badWait = badFunction<typeof firstWithin>('src/deadline.ts', 'firstWithin');

export const BAD_RATE_LIMIT: Variants = {
  'a bucket is counted twice': badReport((add) => (state, { counts, ...report }, ...rest) => {
    const next = [...counts].map(([bucket, count]) => [bucket + 1, count] as const);
    return add(state, { ...report, counts: new Map([...next, ...counts]) }, ...rest);
  }),
  'a report replaces the counts of a newer report': badReport((add) => (state, report, ...rest) => {
    const buckets = new Map(state?.spans);
    for (const [bucket, reporters] of buckets) {
      const others = [...reporters].filter(([reporter]) => reporter !== report.record);
      buckets.set(bucket, new Map(others));
    }
    return add(state && { ...state, spans: buckets }, report, ...rest);
  }),
  'a permit is granted without being counted': badPermit((acquire) => (...values) => ({
    ...acquire(...values),
    nextState: undefined,
  })),
  'an isolate receives its own counts as the counts of the others': badReport(
    (add) =>
      (state, report, ...rest) => ({
        ...add(state, report, ...rest),
        others: new Map(report.counts),
      }),
  ),
  'isolates do not share their counts': badReport((add) => (...values) => ({
    ...add(...values),
    others: new Map(),
  })),
  'a permit is granted or denied by the latest window': badLine(
    'if (!isInWindow(bucket, end)) continue;',
    'if (end !== Math.max(...buckets.keys())) continue;',
  ),
  'a bucket is dropped as soon as it leaves the window by the clock of the counter': badLine(
    'bucketAt(now - MAX_WAIT_MS) - MAX_BUCKETS_APART -',
    'bucketAt(now - MAX_WAIT_MS) -',
  ),
  'a bucket never leaves the window': badWindow(() => () => true),
  'counts from the future are kept after a clock is set back': badMethod(
    'let bucket = current + MAX_BUCKETS_APART;',
    'let bucket = Math.max(current, ...this.#buckets.keys());',
  ),
  'a request waits until the counter responds': badWait(
    (within) => (work, milliseconds, late) => within(work, 3 * milliseconds, late),
  ),
  'pending requests are not counted': badMethod('counts.pending += 1;', ''),
  'the number of unacknowledged requests is unlimited': badMethod(
    'if (!isFailing && ',
    'if (false && ',
  ),
  'a request counts in the bucket in which it gets its permit': badMethod(
    'counts.pending -= 1;',
    `counts.pending -= 1;
     const later = Math.floor(Date.now() / BUCKET_MS);
     counts = this.#countsIn(later);`,
  ),
};
