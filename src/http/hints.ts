/**
 * Adds hints to error messages. A hint helps the sender of a common mistake to correct it. It never
 * changes the status, code or path of an error. A hint that belongs to one schema is next to that
 * schema.
 */

import type { Context } from 'hono';
import type { ApiError } from './errors.ts';
import { isFromLocalhost } from './localhost.ts';

/** @example addHint('must be a list', 'Send [].') // 'must be a list. Send [].' */
export function addHint(message: string, hint: string | undefined): string {
  return hint === undefined ? message : `${message.replace(/\.$/, '')}. ${hint}`;
}

/** Returns a hint for a value of the wrong type, based on zod's issue. */
export function findValueHint({ input, expected = '' }: { input?: unknown; expected?: string }) {
  // PHP encodes an empty object as `[]`.
  if (expected === 'object' && Array.isArray(input) && input.length === 0) {
    return 'Send {}, not [].';
  }
  const isJsonText = typeof input === 'string' && /^\s*[{[]/.test(input);
  return isJsonText && /^(object|array)$/.test(expected)
    ? 'It is JSON in a string. Encode it only once.'
    : undefined;
}

/** Codes of the errors that occur until `npm run dev` has written an `API_KEY` and created the tables. */
const ERRORS_BEFORE_SETUP = ['authentication_invalid', 'authentication_required', 'internal_error'];

/** Returns the message of an error. Adds a hint if the cause may be a working copy that is not set up. */
export function getMessageWithHint({ code, cause, message }: ApiError, c: Context): string {
  if (!ERRORS_BEFORE_SETUP.includes(code)) return message;
  const isSetUp = c.env?.API_KEY !== undefined && !isMissingTable(cause);
  return isSetUp || !isFromLocalhost(c)
    ? message
    : addHint(message, 'This working copy is not set up: run `npm run dev` once.');
}

function isMissingTable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return /no such table/i.test(error.message) || isMissingTable(error.cause);
}
