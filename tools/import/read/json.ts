/** Reads JSON, and finds repeated fields and rounded integers, which JSON.parse loses. Pure. */

import { visit } from 'jsonc-parser';
import type { Fault } from './problem.ts';

/** A lost value, with its path from the root, e.g. `['properties', 3, 'title', 'en']`. */
export type Loss = Pick<Fault, 'code' | 'details'> & { path: (string | number)[] };

/** Losses are in the order of the text. A text that cannot be read is a loss. */
export function parseJson(text: string): { value?: unknown; losses: Loss[] } {
  try {
    return { value: JSON.parse(text), losses: findLosses(text) };
  } catch (error) {
    // `visit` calls itself for each level of a text.
    if (error instanceof RangeError) return { losses: [{ path: [], code: 'too_deep' }] };
    const details = [error instanceof Error ? error.message : ''];
    return { losses: [{ path: [], code: 'not_json', details }] };
  }
}

function findLosses(text: string): Loss[] {
  const losses: Loss[] = [];
  const objects: Set<string>[] = [];
  visit(text, {
    onObjectBegin: () => void objects.push(new Set()),
    onObjectEnd: () => void objects.pop(),
    onObjectProperty: (name, _offset, _length, _line, _column, path) => {
      const names = objects.at(-1);
      if (names?.has(name)) losses.push({ path: [...path(), name], code: 'twice' });
      names?.add(name);
    },
    onLiteralValue: (value, offset, length, _line, _column, path) => {
      if (typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return;
      const number = text.slice(offset, offset + length);
      if (!Number.isFinite(value)) losses.push({ path: path(), code: 'too_large_number' });
      else if (![BigInt(value), parseInteger(String(value))].includes(parseInteger(number))) {
        losses.push({ path: path(), code: 'rounded', details: [value] });
      }
    },
  });
  return losses;
}

/** Returns an integer of JSON, e.g. `1.5e20`; undefined for a number with a fraction. */
function parseInteger(number: string): bigint | undefined {
  const [, whole = '', fraction = '', exponent = ''] =
    /^(-?\d+)\.?(\d*)e?(.*)$/i.exec(number) ?? [];
  const shift = Number(exponent) - fraction.length;
  const digits = BigInt(whole + fraction);
  const scale = 10n ** BigInt(Math.abs(shift));
  if (shift >= 0) return digits * scale;
  return digits % scale === 0n ? digits / scale : undefined;
}
