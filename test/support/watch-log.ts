/**
 * Reads every line that the service logs while the tests run, and fails the test in which one holds
 * a credential, an Idempotency-Key or a value of a body: whatever has been sent, by whatever way,
 * since every `Request` that a test makes is noted.
 *
 * Lines of the access log are not shown: there are thousands, and none is of use in a test's output.
 */

import { afterEach, expect } from 'vitest';

const SECRET_HEADERS = ['x-api-key', 'authorization', 'idempotency-key', 'cookie'];
/** Shorter ones are words that stand in any log line. */
const MIN_CHARACTERS = 8;
/** A line is about one of the last requests; more would only take time. */
const MAX_VALUES = 500;
const MAX_VALUES_A_BODY = 50;

/** Words that a body may hold and a log line too. */
const HARMLESS = [
  'booking.created',
  'booking.cancelled',
  'properties',
  'undefined',
  'function',
  'constructor',
];

const ACCESS_LOG_LINE = '{"level":"info","message":"request"';

const values = new Set<string>();
let leaks: string[] = [];

/** The leaks found so far, which are then forgotten: for the test of this file. */
export function takeLeaks(): string[] {
  const found = leaks;
  leaks = [];
  return found;
}

function remember(value: string): void {
  if (value.length < MIN_CHARACTERS || HARMLESS.includes(value)) return;
  values.delete(value);
  values.add(value);
  if (values.size <= MAX_VALUES) return;
  for (const oldest of values) {
    values.delete(oldest);
    break;
  }
}

function rememberRequest(request: Request, init: RequestInit | undefined): void {
  for (const name of SECRET_HEADERS) {
    const value = request.headers.get(name);
    if (value !== null) remember(value.replace(/^Bearer +/i, ''));
  }
  for (const value of new URL(request.url).searchParams.values()) remember(value);
  if (typeof init?.body === 'string')
    stringsIn(init.body).slice(0, MAX_VALUES_A_BODY).forEach(remember);
}

/** The texts in a body: each string value of JSON, or the body itself. */
function stringsIn(body: string): string[] {
  const strings: string[] = [];
  try {
    JSON.parse(body, (_name, value: unknown) => {
      if (typeof value === 'string') strings.push(value);
      return value;
    });
    return strings;
  } catch {
    return [body];
  }
}

/** A request id is the client's to choose, and there to be logged. */
function check(logged: string): void {
  const line = logged.replace(/"request_id":"(?:[^"\\]|\\.)*"/, '');
  for (const value of values) {
    if (line.includes(value) || line.includes(JSON.stringify(value).slice(1, -1))) {
      leaks.push(`${JSON.stringify(value)} stands in the log line ${line}`);
    }
  }
}

globalThis.Request = new Proxy(Request, {
  construct(target, [input, init]: [RequestInfo, RequestInit?]) {
    const request = new target(input, init);
    rememberRequest(request, init);
    return request;
  },
});

globalThis.console = new Proxy(console, {
  get(target, name) {
    const method: unknown = Reflect.get(target, name);
    if (typeof method !== 'function') return method;
    return (...args: unknown[]) => {
      const line = args.map(String).join(' ');
      check(line);
      // A spy is a property of its own.
      const isUnspied = !Object.hasOwn(target, name);
      if (isUnspied && line.startsWith(ACCESS_LOG_LINE)) return undefined;
      return Reflect.apply(method, target, args);
    };
  },
});

afterEach(() => {
  expect(takeLeaks()).toEqual([]);
});
