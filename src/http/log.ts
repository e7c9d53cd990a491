/**
 * The service's log: one JSON object per line, as Workers Logs indexes it.
 *
 * Of all that a caller sends, the log holds the request id, the method and the route's pattern, and
 * no credential, key, query or payload.
 */

import { currentRequestId } from './request-context.ts';

/** Stand beside the message; a field without a value is left out. */
type Fields = Readonly<Record<string, string | number | boolean | undefined>>;

/** Logs an event that is as it should be. */
export function logInfo(message: string, fields: Fields): void {
  console.log(JSON.stringify({ level: 'info', message, ...fields }));
}

/** Logs a fault that somebody should look at, under the id of the request that met it. */
export function logFault(message: string, cause: unknown): void {
  const line = {
    level: 'error',
    message,
    request_id: currentRequestId(),
    cause: describe(cause),
  };
  console.error(JSON.stringify(line));
}

/** Returns the stack of an error, and those of its causes. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return `a thrown ${typeof error}`;
  const own = error.stack ?? `${error.name}: ${error.message}`;
  return error.cause === undefined ? own : `${own}\ncaused by ${describe(error.cause)}`;
}
