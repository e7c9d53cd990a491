/**
 * Finds values that JSON.parse loses silently: the first of two fields with one name, and the last digits of a large
 * integer. Pure.
 *
 * It reads the text itself: a reviver of JSON.parse is not called for lost fields, and packages that parse JSON into a
 * tree make a node for every value of a file that may have 100 MB. There is no recursion, however deep the text is
 * nested.
 */

import type { PathSegment } from '../../src/http/errors.ts';

export type JsonLoss = { path: PathSegment[]; message: string };

/** An object or a list that the reader is in. `names` is undefined in a list. */
type Level = { names: Set<string> | undefined; at: PathSegment; isBeforeName: boolean };

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** Returns the losses in a text that JSON.parse accepts, in the order of the text. */
export function lossesOf(text: string): JsonLoss[] {
  const losses: JsonLoss[] = [];
  const levels: Level[] = [];
  const report = (message: string) =>
    losses.push({ path: levels.map((level) => level.at), message });

  for (let index = 0; index < text.length; ) {
    const character = text.charAt(index);
    const level = levels.at(-1);
    let end = index + 1;
    if (character === '"') {
      end = endOfString(text, index);
      if (level?.names && level.isBeforeName) {
        const name: string = JSON.parse(text.slice(index, end));
        level.at = name;
        level.isBeforeName = false;
        if (level.names.has(name)) report('appears twice in the same object');
        level.names.add(name);
      }
    } else if (character === '{') {
      levels.push({ names: new Set(), at: '', isBeforeName: true });
    } else if (character === '[') {
      levels.push({ names: undefined, at: 0, isBeforeName: false });
    } else if (character === '}' || character === ']') {
      levels.pop();
    } else if (character === ',' && level) {
      if (typeof level.at === 'number') level.at += 1;
      else level.isBeforeName = true;
    } else if (character === '-' || (character >= '0' && character <= '9')) {
      NUMBER.lastIndex = index;
      const [number = character] = NUMBER.exec(text) ?? [];
      end = index + number.length;
      const problem = problemOfNumber(number);
      if (problem !== undefined) report(problem);
    }
    index = end;
  }
  return losses;
}

/** Returns the index after the closing quotation mark of the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  for (let end = start + 1; ; end += 1) {
    end = text.indexOf('"', end);
    let backslashes = 0;
    while (text.charAt(end - 1 - backslashes) === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
}

function problemOfNumber(number: string): string | undefined {
  const value = Number(number);
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER) return undefined;
  if (!Number.isFinite(value)) return 'is a number that is too large';
  if (decimalOf(number) === decimalOf(String(value))) return undefined;
  return `is a number that JavaScript would round to ${value}`;
}

/** Writes a number in one form: its digits without outer zeros, and the power of ten of the last one. */
function decimalOf(number: string): string {
  const [mantissa = '', exponent = '0'] = number.replace('-', '').toLowerCase().split('e');
  const [integer = '', fraction = ''] = mantissa.split('.');
  const digits = `${integer}${fraction}`.replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  const power = Number(exponent) - fraction.length + digits.length - significant.length;
  return `${significant}e${power}`;
}
