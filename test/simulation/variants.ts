/**
 * Known-bad variants of the service. Each has a plausible mistake, which the simulation must find:
 * a check that finds no mistake proves nothing.
 */

import { resolve } from 'node:path';
import type { Mistake } from './bundle.ts';

/** What is done wrong → how. */
type Variants = Record<string, Mistake>;

/** Replaces a function of a file by what `by` of bad-events.ts makes of it. */
function badFunction(file: string, name: string, by: string): Mistake {
  const declaration = new RegExp(`^(export )?((?:async )?function) ${name}\\b`, 'm');
  const change = (source: string) => {
    const [, exported = ''] = declaration.exec(source) ?? [];
    const renamed = replaceIn(source, declaration, `$2 real_${name}`);
    return `import { ${by} } from ${JSON.stringify(resolve('test/simulation/bad-events.ts'))};
${renamed}
${exported}const ${name} = ${by}(real_${name});`;
  };
  return { file, change };
}

/** Replaces texts of a file, in pairs of the right and the wrong one. */
function badText(file: string, ...pairs: readonly (readonly [right: string, wrong: string])[]) {
  const change = (source: string) =>
    pairs.reduce((changed, [right, wrong]) => replaceIn(changed, right, wrong), source);
  return { file: `src/rate-limit/${file}`, change };
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

const ISOLATE = 'client-window.ts';
const COUNTER = 'counter.ts';
const ARITHMETIC = 'counter-arithmetic.ts';

export const BAD_RATE_LIMIT: Variants = {
  'a count is added to the one before, and does not replace it': badText(ARITHMETIC, [
    'Math.max(known, number)',
    'known + number',
  ]),
  'no place is reserved': badText(
    ISOLATE,
    ['window.reserved += 1', ''],
    ['window.reserved -= 1', ''],
  ),
  'any number may be unconfirmed': badText(ISOLATE, ['if (!isFailing && ', 'if (false && ']),
  'the next window of an isolate is counted in the last one': badText(ARITHMETIC, [
    'APART_MS = WINDOW_MS - 10_000',
    'APART_MS = WINDOW_MS + 10_000',
  ]),
  'the last reports of an isolate are counted in its next window': badText(
    ARITHMETIC,
    ['isLate ? window.countsBefore : window.counts', 'window.counts'],
    ['isLate ? 0 : ', ''],
    ["isLate ? 'countsBefore' : 'counts'", "'counts'"],
  ),
  'each isolate has a window of its own': badText(ARITHMETIC, [
    'counts.values().reduce((sum, each) => sum + each, 0) - known',
    '0',
  ]),
  'a window is forgotten when it ends': badText(COUNTER, ['2 * WINDOW_MS', 'WINDOW_MS']),
  'what has ended is granted': badText(ARITHMETIC, [
    '  const open = openWindow(',
    `  const isOfLast = last !== undefined && recordBeganAt - last.beganAt < APART_MS;
     const hasEnded = now - (isOfLast ? last.beganAt : recordBeganAt) >= WINDOW_MS;
     if (hasEnded) return { reply: { isGranted: true, own: count, others: 0, beganAt: recordBeganAt } };
     const open = openWindow(`,
  ]),
  'a place is denied because a later number has overtaken it': badText(ARITHMETIC, [
    'number <= known || ',
    '',
  ]),
  'an isolate takes an earlier begin that is a difference of clocks': badText(ISOLATE, [
    'if (reply.others > 0) ',
    '',
  ]),
  'the counter alone ends the wait': badText(ISOLATE, [
    'CALL_DEADLINE_MS = 300',
    'CALL_DEADLINE_MS = 1_000',
  ]),
};
