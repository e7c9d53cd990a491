/**
 * Known-bad variants of the service. Each has a plausible mistake, which the simulation must find:
 * a check that finds no mistake proves nothing.
 */

import { resolve } from 'node:path';
import type { Mistake } from './bundle.ts';

/** What is done wrong → how. */
type Variants = Record<string, Mistake>;

/** Replaces a function of a file by what `by` of another file makes of it. */
function badFunction(file: string, name: string, by: string, from = 'bad-events.ts'): Mistake {
  const declaration = new RegExp(`^(export )?((?:async )?function) ${name}\\b`, 'm');
  const change = (source: string) => {
    const [, exported = ''] = declaration.exec(source) ?? [];
    const renamed = replaceIn(source, declaration, `$2 real_${name}`);
    return `import { ${by} } from ${JSON.stringify(resolve('test/simulation', from))};
${renamed}
${exported}const ${name} = ${by}(real_${name});`;
  };
  return { file, change };
}

/** Replaces a text in a private method of the isolate's part, which cannot be wrapped. */
function badMethod(right: string, wrong: string): Mistake {
  const change = (source: string) => replaceIn(source, right, wrong);
  return { file: 'src/rate-limit/client-window.ts', change };
}

function replaceIn(source: string, right: string | RegExp, wrong: string): string {
  const replaced = source.replace(right, wrong);
  if (replaced === source) throw new Error(`the source does not have ${right}`);
  return replaced;
}

const STORE = 'src/events/store.ts';

export const BAD_EVENTS: Variants = {
  'the key is checked, then the event is inserted': badFunction(
    STORE,
    'acceptKeyed',
    'checkThenInsert',
  ),
  'the events of a batch are stored one by one': badFunction(STORE, 'acceptKeyed', 'storeOneByOne'),
  'an entry of KV is valid for as long as KV has it': badFunction(
    'src/events/replay-cache.ts',
    'findCachedResponse',
    'trustKvForEver',
  ),
};

const ARITHMETIC = 'src/rate-limit/counter-arithmetic.ts';
const badReport = (by: string) => badFunction(ARITHMETIC, 'addReport', by, 'bad-rate-limit.ts');
const badWindow = (by: string) => badFunction(ARITHMETIC, 'isInWindow', by, 'bad-rate-limit.ts');

export const BAD_RATE_LIMIT: Variants = {
  'a span is counted twice': badReport('countSpansTwice'),
  'a report replaces the counts, and an older one may be the last': badReport('replaceCounts'),
  'a place is granted uncounted': badReport('grantUncounted'),
  'an isolate gets its own requests as those of others': badReport('replyOwn'),
  'each isolate has a window of its own': badReport('replyNothing'),
  'a span never leaves': badWindow('keepAllSpans'),
  'the counts of a clock that was set back are kept': badWindow('keepLaterSpans'),
  'the counter alone ends the wait': badFunction(
    'src/deadline.ts',
    'firstWithin',
    'waitLonger',
    'bad-rate-limit.ts',
  ),
  'no place is reserved': badMethod('if (mustAsk) {', 'if (mustAsk) {\n this.#used -= 1;'),
  'any number may be unconfirmed': badMethod('const mustAsk =', 'const mustAsk = false &&'),
  'a reservation counts in a later span': badMethod(
    'this.#waiting -= 1;',
    `this.#waiting -= 1;
     this.#own.set(span, (this.#own.get(span) ?? 0) - 1);
     span = Math.floor(Date.now() / SPAN_MS);
     this.#own.set(span, (this.#own.get(span) ?? 0) + 1);`,
  ),
};
