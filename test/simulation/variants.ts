/**
 * Known-bad variants of the service. Each has a plausible mistake, which the simulation must find: a check that finds
 * no mistake proves nothing.
 */

import type { Replacement } from './modules.ts';

/** What is done wrong → how. */
type Variants = Record<string, Replacement[]>;

/** Inserts the event even if its key is held. */
const UNGUARDED: Replacement = {
  file: 'events/store.ts',
  text: 'where not exists (\n    select 1 from events as known',
  by: 'where true or exists (\n    select 1 from events as known',
};

export const BAD_EVENTS: Variants = {
  'KV is the authority': [
    UNGUARDED,
    {
      file: 'events/ingest.ts',
      text: `  const storing = storeOrFind(body, identity, context);
  const lookingUp = findCachedResponse(context.cache, identity, context);`,
      by: `  const lookingUp = findCachedResponse(context.cache, identity, context);
  const known = await lookingUp;
  if (known.kind === 'mismatch') return { kind: 'conflict' };
  const storing = storeOrFind(body, identity, context);`,
    },
  ],
  'the key is checked, then the event is inserted': [
    UNGUARDED,
    {
      file: 'events/store.ts',
      text: '  const [, found] = await writeD1(() =>',
      by: `  const before = await lookUpKeys(database, events, call);
  if (before.every(({ kind }) => kind !== 'free')) return before;
  const [, found] = await writeD1(() =>`,
    },
  ],
  'a request does not recognize its own event': [
    {
      file: 'events/store.ts',
      text: 'same?.receipt === call.receipt',
      by: 'false',
    },
    { file: 'events/store.ts', text: 'const [, found]', by: 'const [inserted, found]' },
    {
      file: 'events/store.ts',
      text: 'return decide(events, found?.results ?? [], call);',
      by: `const decisions = decide(events, found?.results ?? [], call);
  if (!inserted?.meta.changes) return decisions;
  return decisions.map((each) => (each.kind === 'replay' ? { ...each, kind: 'accepted' } : each));`,
    },
  ],
  'the retention is compared the wrong way round': [
    { file: 'events/store.ts', text: 'and (known.created_at >', by: 'and (known.created_at <' },
  ],
  'each attempt without a key has an id of its own': [
    {
      file: 'events/store.ts',
      text: 'INSERT.bindTo(database, values)',
      by: 'INSERT.bindTo(database, { ...values, id: crypto.randomUUID() })',
    },
  ],
  'the events of a batch are stored one by one': [
    {
      file: 'events/store.ts',
      text: '  const { receipt, receivedFrom, now, retentionMs } = call;',
      by: `  if (events.length > 1) {
    const decisions = [];
    for (const event of events) decisions.push(...(await acceptKeyed(database, [event], call)));
    return decisions;
  }
  const { receipt, receivedFrom, now, retentionMs } = call;`,
    },
  ],
  'a batch is stored in the reverse order': [
    { file: 'events/store.ts', text: 'order by place', by: 'order by place desc' },
  ],
  'a batch that is refused stores the events that fit': [
    {
      file: 'events/batch.ts',
      text: '  if (isNonEmpty(problems)) return',
      by: `  if (isNonEmpty(problems) && fitting.length > 0) await acceptKeyed(database, fitting, context);
  if (isNonEmpty(problems)) return`,
    },
  ],
  'a cursor goes on behind events that its page has not shown': [
    { file: 'events/store.ts', text: 'resume: next.seq', by: 'resume: newest' },
  ],
  'an entry of KV is valid for as long as KV has it': [
    {
      file: 'events/replay-cache.ts',
      text: 'holdsKey(entry.accepted_at, call)',
      by: 'true',
    },
  ],
};

/** The two files of the feed's cache. */
const CACHE = 'properties/cache.ts';
const FEED = 'properties/feed.ts';

export const BAD_FEED: Variants = {
  'a response of the edge cache counts as new': [
    {
      file: CACHE,
      text: 'responseOf(body, etag, readAtOf(found))',
      by: 'responseOf(body, etag, Date.now())',
    },
  ],
  'a stale response is served for ever': [
    {
      file: CACHE,
      text: 'this.#staleMs > 0 && ageMs <= this.#staleMs',
      by: 'this.#staleMs > 0',
    },
  ],
  'a response is served until it has been renewed': [
    {
      file: CACHE,
      text: 'if (ageMs < this.#currentMs) return',
      by: 'if (ageMs < 2 * this.#currentMs) return',
    },
  ],
  'a read that stalls is awaited': [
    { file: FEED, text: 'const D1_HEAD_START_MS = 300;', by: 'const D1_HEAD_START_MS = 10_000;' },
  ],
  'a fresh response comes from a replica': [
    {
      file: FEED,
      text: "isFresh ? 'first-primary'",
      by: "isFresh ? 'first-unconstrained'",
    },
  ],
  'a fresh response comes from the cache': [
    {
      file: FEED,
      text: 'isOff || fresh ?',
      by: 'isOff ?',
    },
  ],
  'a response that came while D1 failed is overlooked': [
    {
      file: FEED,
      text: 'const memory = call.cache.findInMemory(call.key);',
      by: 'const memory = undefined;',
    },
  ],
};

/** The count of one isolate, and the arithmetic of the object. */
const ISOLATE = 'rate-limit/client-window.ts';
const ARITHMETIC = 'rate-limit/window.ts';

export const BAD_RATE_LIMIT: Variants = {
  'reports carry differences instead of counts': [
    {
      file: ISOLATE,
      text: 'const report = { record, formerRecord, passed, ageMs, wantsPlace };',
      by: 'const report = { record, formerRecord, passed: passed - this.#tally.reported, ageMs, wantsPlace };',
    },
    {
      file: ARITHMETIC,
      text: 'const passed = Math.max(before, report.passed);',
      by: 'const passed = before + Math.max(0, report.passed);',
    },
  ],
  'no place is reserved': [
    { file: ISOLATE, text: 'this.#tally.reserved += 1;', by: 'this.#tally.reserved += 0;' },
    { file: ISOLATE, text: 'this.#tally.reserved -= 1;', by: 'this.#tally.reserved -= 0;' },
  ],
  'nothing is reported': [
    {
      file: ISOLATE,
      text: "if (unreported >= mayBeUnreported && !isFailing) return 'ask';",
      by: "if (limit > 0) return 'pass';",
    },
  ],
  'a smaller count is news': [
    {
      file: ARITHMETIC,
      text: 'const passed = Math.max(before, report.passed);',
      by: 'const passed = report.passed;',
    },
  ],
  'any number may be unreported': [
    {
      file: ISOLATE,
      text: 'unreported >= mayBeUnreported',
      by: 'unreported >= limit',
    },
  ],
  'requests are not counted while the object fails': [
    {
      file: ISOLATE,
      text: "if (verdict === 'passed') this.#tally.passed += 1;",
      by: "if (inTime === 'passed') this.#tally.passed += 1;",
    },
  ],
  "a window's age is ignored": [
    {
      file: ARITHMETIC,
      text: 'const beganAt = now - ageMs;',
      by: 'const beganAt = ageMs * 0 + now;',
    },
  ],
  'a record keeps its id after an eviction': [
    {
      file: ISOLATE,
      text: 'readonly #record = crypto.randomUUID();',
      by: "readonly #record = 'record';",
    },
  ],
  'the next window of an isolate is counted in the last one': [
    {
      file: ARITHMETIC,
      text: 'known.counts.has(formerRecord);',
      by: 'known.counts.has(`the one before`);',
    },
  ],
  'the object alone ends the wait': [
    {
      file: ISOLATE,
      text: 'const CALL_DEADLINE_MS = 300;',
      by: 'const CALL_DEADLINE_MS = 1_000;',
    },
  ],
};
