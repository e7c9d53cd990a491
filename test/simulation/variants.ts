/**
 * Known-bad variants of the service. Each has a plausible mistake, which the simulation must find:
 * a check that finds no mistake proves nothing.
 */

import type { Replacement } from './bundle.ts';

/** What is done wrong → how. */
type Variants = Record<string, Replacement[]>;

const STORE = 'src/events/store.ts';

export const BAD_EVENTS: Variants = {
  'the key is checked, then the event is inserted': [
    [
      STORE,
      'where not exists (\n    select 1 from events as known',
      'where true or exists (\n    select 1 from events as known',
    ],
    [
      STORE,
      '  const [, found] = await writeD1(() =>',
      `  const before = await lookUpKeys(database, requests, context);
  if (before.every(({ kind }) => kind !== 'free')) return before;
  const [, found] = await writeD1(() =>`,
    ],
  ],
  'the events of a batch are stored one by one': [
    [
      STORE,
      '  const { receipt, receivedFrom, now, heldSince } = context;',
      `  if (requests.length > 1) {
    const decisions = [];
    for (const each of requests) decisions.push(...(await acceptKeyed(database, [each], context)));
    return decisions;
  }
  const { receipt, receivedFrom, now, heldSince } = context;`,
    ],
  ],
  'an entry of KV is valid for as long as KV has it': [
    ['src/events/replay-cache.ts', 'entry.accepted_at > heldSince', 'true'],
  ],
};

/** The count of one isolate, the arithmetic of the object, and the object. */
const ISOLATE = 'src/rate-limit/client-window.ts';
const ARITHMETIC = 'src/rate-limit/window.ts';
const COUNTER = 'src/rate-limit/counter.ts';

export const BAD_RATE_LIMIT: Variants = {
  'reports carry differences instead of counts': [
    [
      ISOLATE,
      'count, ageMs: now - this.#beganAt, wantsPlace };',
      'count: count - this.#tally.confirmed, ageMs: now - this.#beganAt, wantsPlace };',
    ],
    [ARITHMETIC, 'Math.max(before, count) : before', 'before + Math.max(0, count) : before'],
  ],
  'no place is reserved': [
    [ISOLATE, 'this.#tally.reserved += 1;', 'this.#tally.reserved += 0;'],
    [ISOLATE, 'this.#tally.reserved -= 1;', 'this.#tally.reserved -= 0;'],
  ],
  'any number may be unconfirmed': [[ISOLATE, 'Math.min(fifth, MAX_UNCONFIRMED)', 'limit']],
  'the next window of an isolate is counted in the last one': [
    [ARITHMETIC, 'WINDOW_MS - 10_000', 'WINDOW_MS + 10_000'],
  ],
  'each isolate has a window of its own': [
    [ARITHMETIC, 'Math.abs(beganAt - recordBeganAt) < SAME_WINDOW_MS', 'beganAt === recordBeganAt'],
  ],
  'a window is forgotten when it ends': [
    [COUNTER, 'const KEPT_MS = 2 * WINDOW_MS;', 'const KEPT_MS = WINDOW_MS;'],
  ],
  'a place is denied because a later number has overtaken it': [
    [ARITHMETIC, 'count <= before || ', ''],
  ],
  'the object alone ends the wait': [
    [ISOLATE, 'const CALL_DEADLINE_MS = 300;', 'const CALL_DEADLINE_MS = 1_000;'],
  ],
};
