/**
 * What a sender can do about a usual mistake. A rule rejects a request and names the fault; this
 * table adds a sentence to its message. Without a row, every status, code, path and stored event is
 * the same.
 */

import type { Context } from 'hono';
import type { ApiError, ErrorCode, Issue } from './errors.ts';
import { isFromOwnMachine } from './own-machine.ts';

/** An error, or one of its problems, which has a path. */
type Fault = { path?: string; issue?: Issue | undefined; cause?: unknown };

/** Without `c`, the error is of a batch. */
type Row = readonly [
  fits: (fault: Fault, c: Context | undefined) => boolean | undefined,
  sentence: string | ((issue: Issue) => string | undefined),
];

// All events of its sender have one key.
const UNFILLED: Row = [
  ({ issue }) => matches(issue, /(?<![a-z])(undefined|null|nan)(?![a-z])|\{\{|\$\{|\[object /i),
  'The key looks like a template that was not filled in: each event needs a key of its own.',
];

// `npm run dev` writes an `API_KEY`, and makes the tables.
const NOT_SET_UP: Row = [
  ({ cause }, c) =>
    c !== undefined && isFromOwnMachine(c) && (c.env?.API_KEY === undefined || lacksTables(cause)),
  'This working copy is not set up: run `npm run dev` once.',
];

/** The first row that fits gives the advice. */
export const ADVICE: { [Code in ErrorCode]?: readonly Row[] } = {
  validation_error: [
    [
      ({ path = '', issue }) =>
        isUnknown(issue) && !issue.known?.length && /(^|\.)event_id$|idempoten/i.test(path),
      "Send the Idempotency-Key header, or in a batch the idempotency_key of each event, which sets the event's id.",
    ],
    [({ issue }) => isUnknown(issue), suggest],
    [(fault, c) => fault.path?.endsWith('idempotency_key') && UNFILLED[0](fault, c), UNFILLED[1]],
    [
      ({ path, issue }) => path === '' && Array.isArray(issue?.input) && issue.input.length > 0,
      'Send several events as {"events": […]} to /api/public/events/ingest/batch.',
    ],
    // PHP writes an empty array so.
    [
      ({ issue }) =>
        issue?.expected === 'object' && Array.isArray(issue.input) && issue.input.length === 0,
      'Send {}, not [].',
    ],
    [
      ({ issue }) => /^(object|array)$/.test(issue?.expected ?? '') && matches(issue, /^\s*[{[]/),
      'It is JSON in a string: it was encoded twice.',
    ],
    // A `+` that is not escaped in a query or a form means a space.
    [
      ({ issue }) => isTime(issue) && matches(issue, /\d \d\d(:?\d\d)?$/),
      'The + of its offset became a space: where the text is URL-encoded, write %2B.',
    ],
    [({ issue }) => isTime(issue) && matches(issue, /\]$/), 'Leave out the zone in brackets.'],
    [({ issue }) => isTime(issue) && matches(issue, /^.{10}t|z$/), 'Write T and Z in capitals.'],
  ],
  idempotency_key_in_use: [UNFILLED],
  authentication_invalid: [NOT_SET_UP],
  authentication_required: [NOT_SET_UP],
  internal_error: [NOT_SET_UP],
  resource_missing: [[(_, c) => c?.req.path.includes('//'), 'The path has a double slash.']],
};

/** Returns the texts of an error with their advice. */
export function withAdvice(error: ApiError, c?: Context): Pick<ApiError, 'message' | 'details'> {
  const { code, details, issue, cause } = error;
  const rows = ADVICE[code] ?? [];
  const advise = (message: string, fault: Fault) => {
    const [, sentence] = rows.find(([fits]) => fits(fault, c)) ?? [];
    const advice = typeof sentence === 'function' ? sentence(fault.issue ?? {}) : sentence;
    return advice === undefined ? message : `${message.replace(/\.$/, '')}. ${advice}`;
  };
  // The message is of the first problem.
  const [first] = code === 'validation_error' && details ? details : [{ issue, cause }];
  return {
    message: advise(error.message, first ?? {}),
    details: details?.map((problem) => ({
      ...problem,
      message: advise(problem.message, problem),
    })),
  };
}

/** A field, a parameter or a header that the service does not have. */
function isUnknown(issue: Issue | undefined): issue is Issue {
  return issue?.code === 'unrecognized_keys';
}

function matches(issue: Issue | undefined, pattern: RegExp): boolean {
  return typeof issue?.input === 'string' && pattern.test(issue.input);
}

function isTime(issue: Issue | undefined): boolean {
  return matches(issue, /^\d{4}-\d\d-\d\dT/i);
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
function suggest({ input, known = [] }: Issue): string | undefined {
  // The input of an unknown field is its object, which may have a `toString` of the caller's.
  if (typeof input !== 'string') return undefined;
  const plain = input.replace(IN_BRACKETS, '$1').toLowerCase();
  const [, ...names] = MEANT.find(([pattern]) => pattern.test(plain)) ?? [];
  const meant = [...names, plain].find((name) => known.includes(name));
  return meant && `Use ${meant}.`;
}

function lacksTables(cause: unknown): boolean {
  return (
    cause instanceof Error && (/no such table/i.test(cause.message) || lacksTables(cause.cause))
  );
}
