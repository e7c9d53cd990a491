/**
 * The service's log: one JSON object a line, as Workers Logs indexes it.
 *
 * Nothing that a caller sends is logged but the request id, the method and the route's pattern:
 * no credential, key, query or payload.
 */

/** Beside the message; a field without a value is left out. */
type Fields = Readonly<Record<string, string | number | boolean | undefined>>;

/** What is as it should be. */
export function logInfo(message: string, fields: Fields): void {
  console.log(JSON.stringify({ level: 'info', message, ...fields }));
}

/** A fault that somebody should look at, with its cause; `requestId` ties it to the answer given. */
export function logFault(
  message: string,
  requestId: string | undefined,
  cause: unknown,
  fields: Fields = {},
): void {
  console.error(
    JSON.stringify({
      level: 'error',
      message,
      request_id: requestId,
      ...fields,
      cause: describe(cause),
    }),
  );
}

/** Stack of an error and of what caused it. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return `a thrown ${typeof error}`;
  const own = error.stack ?? `${error.name}: ${error.message}`;
  return error.cause === undefined ? own : `${own}\ncaused by ${describe(error.cause)}`;
}
