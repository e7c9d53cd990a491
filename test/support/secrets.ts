/** What may stand in no log line, of all that tests send; and whether it stands in one. Pure. */

/** Shorter ones are words that stand in any log line. */
const MIN_CHARACTERS = 8;

/** Words that a body may hold and a log line too. */
const HARMLESS = [
  'booking.created',
  'booking.cancelled',
  'properties',
  'undefined',
  'function',
  'constructor',
];

const HEADER =
  /\b(?:x-api-key|authorization|idempotency-key|cookie)[ \t]*:[ \t]*(?:Bearer +)?([^\r\n']+)/gi;
const QUERY = /\?([^\s'"#]+)/g;
/** A JSON string, and the colon that makes it the name of a field. */
const JSON_STRING = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?/g;

export function isSecret(value: string): boolean {
  return value.length >= MIN_CHARACTERS && !HARMLESS.includes(value);
}

/** The secrets of a text: requests as they go over the wire, broken ones too, or a script of curl lines. */
export function secretsIn(text: string): string[] {
  const headers = [...text.matchAll(HEADER)].map((match) => match[1]?.trim() ?? '');
  const queries = [...text.matchAll(QUERY)].flatMap((match) => [
    ...new URLSearchParams(match[1]).values(),
  ]);
  // Line by line: a quote that is never closed spoils one body and not all that follow.
  const strings = text
    .split('\n')
    .flatMap((line) =>
      [...line.matchAll(JSON_STRING)]
        .filter(([, , colon]) => colon === undefined)
        .map(([, literal = '']) => parsedString(literal)),
    );
  return [...headers, ...queries, ...strings].filter(isSecret);
}

/** A line without what differs in each and may: a request id is the client's to choose, and there to be logged. */
export function withoutIds(line: string): string {
  return line
    .replace(/"request_id":"(?:[^"\\]|\\.)*"/, '"request_id":""')
    .replace(/"duration_ms":\d+/, '"duration_ms":0');
}

/** Returns a finding for each value that a log line holds, in plain or as JSON writes it. */
export function findSecrets(logged: string, values: Iterable<string>): string[] {
  const line = withoutIds(logged);
  return [...values]
    .filter((value) => value.length <= line.length)
    .filter((value) => line.includes(value) || line.includes(JSON.stringify(value).slice(1, -1)))
    .map((value) => `${JSON.stringify(value)} stands in the log line ${line}`);
}

function parsedString(literal: string): string {
  try {
    return String(JSON.parse(literal));
  } catch {
    return literal.slice(1, -1);
  }
}
