/**
 * Known-bad variants of the service. Each has a plausible mistake, which the simulation must find:
 * a check that finds no mistake proves nothing.
 */

import type { Mistake } from './bundle.ts';

/** What is done wrong → how. */
type Variants = Record<string, Mistake>;

const STORE = 'src/events/store.ts';
const ISOLATE = 'src/rate-limit/client-window.ts';
const ARITHMETIC = 'src/rate-limit/window.ts';
const COUNTER = 'src/rate-limit/counter.ts';

const events = (file: string, name: string, by: string): Mistake => ({
  ...{ file, name, by },
  module: 'test/simulation/bad-events.ts',
});
const rateLimit = (file: string, name: string, by: string): Mistake => ({
  ...{ file, name, by },
  module: 'test/simulation/bad-rate-limit.ts',
});

export const BAD_EVENTS: Variants = {
  'the key is checked, then the event is inserted': events(STORE, 'acceptKeyed', 'checkThenInsert'),
  'the events of a batch are stored one by one': events(STORE, 'acceptKeyed', 'storeOneByOne'),
  'an entry of KV is valid for as long as KV has it': events(
    'src/events/replay-cache.ts',
    'findCachedResponse',
    'trustKvForEver',
  ),
};

export const BAD_RATE_LIMIT: Variants = {
  'a count is added to the one before, and does not replace it': rateLimit(
    ARITHMETIC,
    'addReport',
    'addUp',
  ),
  'no place is reserved': rateLimit(ISOLATE, 'decide', 'reserveNothing'),
  'any number may be unconfirmed': rateLimit(ISOLATE, 'decide', 'neverWait'),
  'the next window of an isolate is counted in the last one': rateLimit(
    ARITHMETIC,
    'SAME_WINDOW_MS',
    'moreThanAWindow',
  ),
  'each isolate has a window of its own': rateLimit(ARITHMETIC, 'SAME_WINDOW_MS', 'aMillisecond'),
  'a window is forgotten when it ends': rateLimit(COUNTER, 'KEPT_MS', 'aWindow'),
  'a place is denied because a later number has overtaken it': rateLimit(
    ARITHMETIC,
    'addReport',
    'denyOvertaken',
  ),
  'the object alone ends the wait': rateLimit(ISOLATE, 'CALL_DEADLINE_MS', 'aSecond'),
};
