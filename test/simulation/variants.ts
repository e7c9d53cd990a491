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
      text: `  const asking = askStore(body, identity, request, context);
  const askingCache = askCache(identity, request, context);`,
      by: `  const askingCache = askCache(identity, request, context);
  const known = await askingCache;
  if (known.kind === 'mismatch') return { kind: 'conflict' };
  const asking = askStore(body, identity, request, context);`,
    },
  ],
  'the key is checked, then the event is inserted': [
    UNGUARDED,
    {
      file: 'events/store.ts',
      text: '  const [, found] = await writeD1(() =>',
      by: `  const before = await lookUpKeys(database, events, request);
  if (before.every(({ kind }) => kind !== 'free')) return before;
  const [, found] = await writeD1(() =>`,
    },
  ],
  'a request does not recognize its own event': [
    {
      file: 'events/store.ts',
      text: 'same?.receipt === request.receipt',
      by: 'false',
    },
    { file: 'events/store.ts', text: 'const [, found]', by: 'const [inserted, found]' },
    {
      file: 'events/store.ts',
      text: 'return decide(events, found?.results ?? [], request);',
      by: `const decisions = decide(events, found?.results ?? [], request);
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
      text: '  const { receipt, received_from, now, retentionMs } = request;',
      by: `  if (events.length > 1) {
    const decisions = [];
    for (const event of events) decisions.push(...(await acceptKeyed(database, [event], request)));
    return decisions;
  }
  const { receipt, received_from, now, retentionMs } = request;`,
    },
  ],
  'a batch is stored in the reverse order': [
    { file: 'events/store.ts', text: 'order by place', by: 'order by place desc' },
  ],
  'a batch that is refused stores the events that fit': [
    {
      file: 'events/batch.ts',
      text: '  if (isNonEmpty(problems)) return',
      by: `  if (isNonEmpty(problems) && fitting.length > 0) await acceptKeyed(database, fitting, request);
  if (isNonEmpty(problems)) return`,
    },
  ],
  'a cursor goes on behind events that its page has not shown': [
    { file: 'events/stream.ts', text: 'resume: end.seq', by: 'resume: newest' },
  ],
  'an entry of KV is valid for as long as KV has it': [
    {
      file: 'events/replay-cache.ts',
      text: 'holdsKey(entry.accepted_at, request)',
      by: 'true',
    },
  ],
};

/** The two files of the feed's cache. */
const CACHE = 'properties/cache.ts';
const FEED = 'properties/feed.ts';

export const BAD_FEED: Variants = {
  'an answer of the edge cache counts as new': [
    {
      file: CACHE,
      text: "this.#cachedAt('edge', answerOf(body, etag, readAt))",
      by: "this.#cachedAt('edge', answerOf(body, etag, Date.now()))",
    },
  ],
  'a stale answer stands in for ever': [
    {
      file: CACHE,
      text: 'this.#staleMs > 0 && ageMs <= this.#staleMs',
      by: 'this.#staleMs > 0',
    },
  ],
  'an answer is given until it has been renewed': [
    {
      file: CACHE,
      text: 'if (ageMs >= this.#freshMs) {',
      by: 'if (ageMs >= 2 * this.#freshMs) {',
    },
  ],
  'a read that stalls is waited for': [
    { file: FEED, text: 'const D1_HEAD_START_MS = 300;', by: 'const D1_HEAD_START_MS = 10_000;' },
  ],
  'a fresh answer comes from a replica': [
    {
      file: FEED,
      text: "isFreshAsked ? 'first-primary'",
      by: "isFreshAsked ? 'first-unconstrained'",
    },
  ],
  'a fresh answer comes from the cache': [
    {
      file: FEED,
      text: 'config.feedCacheSeconds === 0 || fresh !== undefined',
      by: 'config.feedCacheSeconds === 0',
    },
  ],
  'an answer that came while D1 failed is overlooked': [
    {
      file: FEED,
      text: 'const remembered = asked.cache.findInMemory(asked.key);',
      by: 'const remembered = earlier;',
    },
    {
      file: FEED,
      text: 'return afterFailure(asked, await asking, first.error);',
      by: 'return afterFailure(asked, await asking, first.error, remembered);',
    },
    {
      file: FEED,
      text: 'atEdge: Cached | undefined, error: unknown): Given {',
      by: 'atEdge: Cached | undefined, error: unknown, earlier): Given {',
    },
  ],
};

/** The pool of one isolate, and the arithmetic of the object. */
const POOL = 'rate-limit/pool.ts';
const LEASE = 'rate-limit/lease.ts';

export const BAD_RATE_LIMIT: Variants = {
  'a lease is debited when it is spent': [
    // The object grants as before, but debits one request per call.
    {
      file: LEASE,
      text: 'hits: hits + granted }',
      by: 'hits: hits + Math.min(1, granted) }',
    },
  ],
  'a grant replaces the pool': [
    {
      file: POOL,
      text: 'this.#held += granted;',
      by: 'this.#held = granted;',
    },
  ],
  'a lease outlives its window': [
    {
      file: POOL,
      text: 'return lastsMs > 0 &&',
      by: 'return lastsMs > (this.#held > 0 ? -5_000 : 0) &&',
    },
  ],
  'a lease ends as long after its answer as after its call': [
    {
      file: POOL,
      text: 'const endsAt = sentAt + resetMs;',
      by: 'const endsAt = now + resetMs;',
    },
  ],
  'an offender is remembered while the pool holds requests': [
    {
      file: POOL,
      text: '    if (this.#held > 0) {',
      by: '    if (this.#held > 0 && window.left > 0) {',
    },
  ],
  'an eviction forgets a full window': [
    {
      file: LEASE,
      text: 'return hits > firstLease(limit) || hits >= limit;',
      by: 'return hits > firstLease(limit) && hits < limit / 2;',
    },
  ],
  'an isolate does not tell its object which window it knows': [
    {
      file: POOL,
      text: 'return window && { startedAt: window.id, hits: this.#limit - window.left };',
      by: 'return window && undefined;',
    },
  ],
  'an object takes over which window it is, and not what is granted of it': [
    {
      file: LEASE,
      text: 'if (remembered !== undefined && !isOver(remembered, now)) return remembered;',
      by: 'if (remembered !== undefined && !isOver(remembered, now)) return { ...remembered, hits: 0 };',
    },
  ],
  'an object believes an isolate more than itself': [
    {
      file: LEASE,
      text: '  if (own !== undefined && !isOver(own, now)) return own;\n',
      by: '',
    },
    {
      file: LEASE,
      text: '  return { startedAt: now, hits: 0 };',
      by: `  if (own !== undefined && !isOver(own, now)) return own;
  return { startedAt: now, hits: 0 };`,
    },
  ],
  'a request waits a whole second more for a call of its own': [
    { file: POOL, text: 'DEADLINE_MS - waitedMs', by: 'DEADLINE_MS' },
  ],
  'a request loses its patience with calls under way': [
    {
      file: POOL,
      text: 'const PATIENCE_MS = 100;',
      by: 'const PATIENCE_MS = 20;',
    },
  ],
};
