/** The secrets in what tests send, and whether a log line holds one. Pure. */

/** Shorter values are words that any log line may hold. */
const MIN_CHARACTERS = 8;

/** Values of bodies and queries that a log line may hold too: kinds of events, words of routes and of JavaScript. */
const HARMLESS = [
  'booking.created',
  'booking.cancelled',
  'properties',
  'property',
  'property-changes',
  'locations',
  'detailed',
  'undefined',
  'function',
  'constructor',
];

const HEADER =
  /\b(?:x-api-key|authorization|idempotency-key|cookie)[ \t]*:[ \t]*(?:Bearer +)?([^\r\n']+)/gi;
const QUERY = /\?([^\s'"#]+)/g;
/** A JSON string, with the colon that makes it the name of a field. */
const JSON_STRING = /("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?/g;
/** Characters that JSON writes otherwise; half of a surrogate pair is one of them. */
const ESCAPED = /["\\\p{Cc}\p{Cs}]/u;

export function isSecret(value: string): boolean {
  return value.length >= MIN_CHARACTERS && !HARMLESS.includes(value);
}

/** Returns the secrets of a text: requests as they go over the wire, whole or broken, or a script of curl lines. */
export function secretsIn(text: string): string[] {
  const headers = [...text.matchAll(HEADER)].map((match) => match[1]?.trim() ?? '');
  const queries = [...text.matchAll(QUERY)].flatMap((match) => [
    ...new URLSearchParams(match[1]).values(),
  ]);
  // Line by line: a quote that is never closed spoils one body, not all that follow.
  const strings = text
    .split('\n')
    .flatMap((line) =>
      [...line.matchAll(JSON_STRING)]
        .filter(([, , colon]) => colon === undefined)
        .map(([, literal = '']) => parsedString(literal)),
    );
  return [...headers, ...queries, ...strings].filter(isSecret);
}

/** Returns a line without its request id, which the client chooses and may see logged, and its times. */
export function withoutIds(line: string): string {
  return line
    .replace(/"request_id":"(?:[^"\\]|\\.)*"/, '"request_id":""')
    .replaceAll(/"(duration|counter|database)_ms":\d+/g, '"$1_ms":0');
}

/** Returns a finding for each value that a log line holds, in plain or as JSON writes it. */
export function findSecrets(logged: string, values: Iterable<string>): string[] {
  const line = withoutIds(logged);
  return [...values]
    .filter((value) => value.length <= line.length)
    .filter((value) => line.includes(value) || (isEscaped(value) && line.includes(escaped(value))))
    .map((value) => `${JSON.stringify(value)} stands in the log line ${line}`);
}

function isEscaped(value: string): boolean {
  return ESCAPED.test(value);
}

function escaped(value: string): string {
  return JSON.stringify(value).slice(1, -1);
}

function parsedString(literal: string): string {
  try {
    return String(JSON.parse(literal));
  } catch {
    return literal.slice(1, -1);
  }
}
