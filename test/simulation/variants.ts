/**
 * Known-bad variants of the service. Each has a plausible mistake, which the simulation must find:
 * a check that finds no mistake proves nothing.
 */

import type { firstWithin } from '../../src/deadline.ts';
import type { findCachedResponse } from '../../src/events/replay-cache.ts';
import type { acceptKeyed } from '../../src/events/store.ts';
import type {
  addReport,
  askForPlace,
  isInWindow,
} from '../../src/rate-limit/counter-arithmetic.ts';
import type { Mistake } from './bundle.ts';

/** What is done wrong → how. */
type Variants = Record<string, Mistake>;

/** Replaces an exported function of a file by what `makeWrong` makes of it. */
const badFunction =
  <F>(file: string, name: string) =>
  (makeWrong: (real: F) => F): Mistake => ({
    file,
    change: (source) => `${replaceIn(source, `function ${name}`, `function real_${name}`)}
      export const ${name} = makeWrong(real_${name});`,
    makeWrong,
  });

/** Replaces a text in a private method of the isolate's part, which cannot be wrapped. */
const badMethod = (right: string, wrong: string): Mistake => ({
  file: 'src/rate-limit/client-window.ts',
  change: (source) => replaceIn(source, right, wrong),
});

function replaceIn(source: string, right: string, wrong: string): string {
  if (!source.includes(right)) throw new Error(`the source does not have ${right}`);
  return source.replace(right, wrong);
}

const badAccept = badFunction<typeof acceptKeyed>('src/events/store.ts', 'acceptKeyed');
const badReplay = badFunction<typeof findCachedResponse>(
  'src/events/replay-cache.ts',
  'findCachedResponse',
);

export const BAD_EVENTS: Variants = {
  'the key is checked, then the event is inserted': badAccept(
    (accept) => async (database, requests, context) => {
      const keys = JSON.stringify(requests.map(({ keyId }) => keyId));
      const held = await database
        .prepare('SELECT 1 FROM events WHERE key_id IN (SELECT value FROM json_each(?))')
        .bind(keys)
        .first();
      const heldSince = held ? context.heldSince : Number.MAX_SAFE_INTEGER;
      return accept(database, requests, { ...context, heldSince });
    },
  ),
  'the events of a batch are stored one by one': badAccept(
    (accept) => async (database, requests, context) => {
      const decisions = [];
      for (const each of requests) decisions.push(...(await accept(database, [each], context)));
      return decisions;
    },
  ),
  'an entry of KV is valid for as long as KV has it': badReplay(
    (find) => (cache, identity, context) => find(cache, identity, { ...context, heldSince: 0 }),
  ),
};

const ARITHMETIC = 'src/rate-limit/counter-arithmetic.ts';
const badReport = badFunction<typeof addReport>(ARITHMETIC, 'addReport');
const badPlace = badFunction<typeof askForPlace>(ARITHMETIC, 'askForPlace');
const badWindow = badFunction<typeof isInWindow>(ARITHMETIC, 'isInWindow');
const badWait = badFunction<typeof firstWithin>('src/deadline.ts', 'firstWithin');

export const BAD_RATE_LIMIT: Variants = {
  'a span is counted twice': badReport((add) => (last, { counts, ...report }, ...rest) => {
    const next = [...counts].map(([span, count]) => [span + 1, count] as const);
    return add(last, { ...report, counts: new Map([...next, ...counts]) }, ...rest);
  }),
  'a report replaces the counts, and an older one may be the last': badReport(
    (add) =>
      (last, report, ...rest) => {
        const spans = new Map(last?.spans);
        for (const [span, records] of spans) {
          spans.set(span, new Map([...records].filter(([record]) => record !== report.record)));
        }
        return add(last && { ...last, spans }, report, ...rest);
      },
  ),
  'a place is granted uncounted': badPlace((ask) => (...values) => ({
    ...ask(...values),
    changed: undefined,
  })),
  'an isolate gets its own requests as those of others': badReport(
    (add) =>
      (last, report, ...rest) => ({
        ...add(last, report, ...rest),
        others: new Map(report.counts),
      }),
  ),
  'isolates share no counts': badReport((add) => (...values) => ({
    ...add(...values),
    others: new Map(),
  })),
  'a span never leaves': badWindow(() => () => true),
  'the counts of a clock that was set back are kept': badMethod(
    'let span = current + SPANS_AHEAD;',
    'let span = Math.max(current, ...this.#spans.keys());',
  ),
  'the counter alone ends the wait': badWait(
    (within) => (work, milliseconds, late) => within(work, 3 * milliseconds, late),
  ),
  'no place is reserved': badMethod('counts.reserved += 1;', ''),
  'any number may be unconfirmed': badMethod('if (!isFailing && ', 'if (false && '),
  'a reservation counts in a later span': badMethod(
    'counts.reserved -= 1;',
    `counts.reserved -= 1;
     const later = Math.floor(Date.now() / SPAN_MS);
     counts = this.#countsOf(later);`,
  ),
};
