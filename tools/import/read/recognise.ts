/** Recognises texts that are no listings file, so that each is one sentence with its repair. Pure. */

import { isMap } from './listing-schemas.ts';
import type { Fault } from './problem.ts';

/** `undefined`: it may be a listings file. */
export function recogniseText(text: string): Fault['code'] | undefined {
  if (text.trim() === '') return 'no_record';
  if (/^\s*</.test(text)) return 'web_page';
  const [first = '', second = ''] = text.split(/[\r\n]+/).filter((line) => line.trim() !== '');
  if (isObject(second) && isObject(first)) return 'record_per_line';
  if (/^\s*["[{\d]/.test(text)) return undefined;
  if (first.includes('\t')) return 'tabs';
  return /[,;]/.test(first) && second !== '' ? 'csv' : undefined;
}

/** Of parsed JSON. */
export function recogniseValue(value: unknown): Fault['code'] | undefined {
  if (Array.isArray(value)) return 'list';
  if (!isMap(value)) return undefined;
  return typeof value.object === 'string' ? 'feed_response' : undefined;
}

function isObject(line: string): boolean {
  try {
    return isMap(JSON.parse(line));
  } catch {
    return false;
  }
}
