/**
 * What a sender can do about a usual mistake: a sentence that follows the message of a rule. Without
 * it, every status, code, path and stored event is the same.
 */

import type { Context } from 'hono';
import type { ApiError, ErrorCode } from './errors.ts';
import { isFromLocalhost } from './localhost.ts';

export function addHint(message: string, hint: string | undefined): string {
  return hint === undefined ? message : `${message.replace(/\.$/, '')}. ${hint}`;
}

type Row = readonly [fits: (error: ApiError, c: Context) => boolean, sentence: string];

// `npm run dev` writes an `API_KEY`, and makes the tables.
const NOT_SET_UP: Row = [
  ({ cause }, c) => isFromLocalhost(c) && (c.env?.API_KEY === undefined || lacksTables(cause)),
  'This working copy is not set up: run `npm run dev` once.',
];

/** What a whole request shows. */
export const ADVICE: { [Code in ErrorCode]?: Row } = {
  authentication_invalid: NOT_SET_UP,
  authentication_required: NOT_SET_UP,
  internal_error: NOT_SET_UP,
};

function lacksTables(cause: unknown): boolean {
  return (
    cause instanceof Error && (/no such table/i.test(cause.message) || lacksTables(cause.cause))
  );
}

/** What the advice needs of a problem: see zod's issues. Never shown or logged. */
type Fault = {
  /** The bad value. */
  input?: unknown;
  expected?: string;
  /** A name that the service does not have, and those that the route has. */
  unknown?: string | undefined;
  known?: readonly string[];
};

/** What a bad value or an unknown name shows. */
export function adviseOn({ input, expected = '', unknown, known }: Fault) {
  if (unknown !== undefined) return known ? suggest(unknown, known) : adviseOnField(unknown);
  // PHP writes an empty array so.
  if (expected === 'object' && Array.isArray(input) && input.length === 0) {
    return 'Send {}, not [].';
  }
  const text = typeof input === 'string' ? input : '';
  if (/^(object|array)$/.test(expected) && /^\s*[{[]/.test(text)) {
    return 'It is JSON in a string: it was encoded twice.';
  }
  return undefined;
}

function adviseOnField(name: string): string | undefined {
  return /^event_id$|idempoten/i.test(name)
    ? "Send the Idempotency-Key header, or in a batch the idempotency_key of each event, which sets the event's id."
    : undefined;
}

/** Names of parameters in other APIs, and in other parts of this one → the parameters that are meant. */
const MEANT: readonly [RegExp, ...string[]][] = [
  [
    /^(cursor|after|(resume|next)_cursor|starting_after|ending_before|page|offset|page_token)$/,
    'cursor',
    'after',
  ],
  [/^lang(uage)?$/, 'locale'],
  [/^event_type$/, 'type'],
  [/^location_slug$/, 'location'],
];

/** A name with brackets at its end. Anchored at both ends, a long name takes linear time. */
const IN_BRACKETS = /^([^[]*)(?:\[[^[\]]*\])+$/;

/** Also for a name that differs from a known one only by case or brackets. */
function suggest(name: string, known: readonly string[]): string | undefined {
  const plain = name.replace(IN_BRACKETS, '$1').toLowerCase();
  const [, ...names] = MEANT.find(([pattern]) => pattern.test(plain)) ?? [];
  const meant = [...names, plain].find((each) => known.includes(each));
  return meant && `Use ${meant}.`;
}
