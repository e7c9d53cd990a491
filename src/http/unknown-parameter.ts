/** Query parameters that no list and no item has: which are ignored, and what the message advises. */

import { formatPath, type Problem } from './errors.ts';

/** Names from other parts of the API → parameters. */
export type Aliases = Readonly<Record<string, string>>;

const CURSOR_PARAMETERS = ['cursor', 'after'];

/** What other APIs page by. */
const PAGING_NAMES =
  /^(cursor|after|resume_cursor|next_cursor|starting_after|ending_before|page|offset|page_token)$/;

const USUAL_NAMES = { lang: 'locale', language: 'locale' };

/** Parameters that links append, and that scripts append against caches. */
const APPENDED =
  /^((utm|gad|pk|mtm|matomo|hsa|ref)?_.*|[a-z]*cl(k|ick)?id|gclsrc|[gw]braid|igsh(id)?|srsltid|li_fat_id|mc_[ce]id|epik|mkt_tok|ref|t|v|cb|ts|(no)?cache)$/i;

/** A name with brackets at its end. Anchored at both ends, a long name takes linear time. */
const IN_BRACKETS = /^([^[]*)(?:\[[^[\]]*\])+$/;

/**
 * Undefined for a parameter that links append. The message suggests a parameter of `shape` that the
 * name is an alias of, or differs from only by case or brackets.
 */
export function describeUnknown(
  name: string,
  shape: object,
  aliases: Aliases,
): Problem | undefined {
  if (APPENDED.test(name)) return undefined;
  const known = Object.keys(shape);
  const cursorName = findCursorParameter(shape);
  const plain = name.replace(IN_BRACKETS, '$1').toLowerCase();
  const meant = PAGING_NAMES.test(plain)
    ? cursorName
    : (new Map(Object.entries({ ...USUAL_NAMES, ...aliases })).get(plain) ?? plain);
  const isNearMiss = meant !== undefined && known.includes(meant);
  const advice = isNearMiss
    ? `${meant === cursorName ? 'page with' : 'use'} ${meant}`
    : `known are ${known.join(', ') || 'none'}`;
  return {
    path: formatPath([name]),
    field: 'query',
    message: `is not a parameter here: ${advice}`,
  };
}

export function findCursorParameter(shape: object): string | undefined {
  return CURSOR_PARAMETERS.find((name) => Object.hasOwn(shape, name));
}
