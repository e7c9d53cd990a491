/**
 * Fails a test in workerd if the log contains a credential, an idempotency key or a value from a
 * request body. Collects these values from every `Request` that the test creates.
 * test/http/hostile-http.node.test.ts checks the log over real HTTP.
 *
 * Also hides the thousands of lines of the access log.
 */

import { LRUCache } from 'lru-cache';
import { afterAll, afterEach, expect } from 'vitest';

const SECRET_HEADERS = ['x-api-key', 'authorization', 'idempotency-key', 'cookie'];
const MAX_VALUES_PER_BODY = 50;
const ACCESS_LOG_LINE = '{"level":"info","message":"request"';
/** Minimum length of a watched value. Shorter values can be ordinary words. */
const MIN_CHARACTERS = 8;
/**
 * Values that log lines contain for other reasons: event types, and words from routes and from
 * JavaScript.
 */
const HARMLESS =
  /^(booking\.\w+|property|properties|property-changes|locations|detailed|undefined|function|constructor)$/;

/** Values of the most recent requests. Lines about older requests are no longer expected. */
const values = new LRUCache<string, true>({ max: 500 });
let leaks: string[] = [];

/** Remembers a value and its JSON form. */
function remember(value: string): void {
  if (value.length < MIN_CHARACTERS || HARMLESS.test(value)) return;
  values.set(value, true);
  values.set(JSON.stringify(value).slice(1, -1), true);
}

function rememberRequest(request: Request, init: RequestInit | undefined): void {
  for (const name of SECRET_HEADERS) {
    remember(request.headers.get(name)?.replace(/^Bearer +/i, '') ?? '');
  }
  for (const value of new URL(request.url).searchParams.values()) remember(value);
  if (typeof init?.body !== 'string') return;
  listStrings(init.body).slice(0, MAX_VALUES_PER_BODY).forEach(remember);
}

/** Lists the strings in a JSON body. Returns any other body as one string. */
function listStrings(body: string): string[] {
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

/**
 * Returns one description for each remembered value in a log line. Ignores the request id and the
 * durations.
 */
function findSecrets(logged: string): string[] {
  const line = logged
    .replace(/"request_id":"(?:[^"\\]|\\.)*"/, '"request_id":""')
    .replaceAll(/"(duration|counter|database)_ms":\d+/g, '"$1_ms":0');
  return [...values.keys()]
    .filter((value) => line.includes(value))
    .map((value) => `${JSON.stringify(value)} is in the log line ${line}`);
}

const originals = { Request, console };

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
      leaks.push(...findSecrets(line));
      // A spy of a test is an own property of the console.
      const isUnspied = !Object.hasOwn(target, name);
      if (isUnspied && line.startsWith(ACCESS_LOG_LINE)) return undefined;
      return Reflect.apply(method, target, args);
    };
  },
});

afterEach(() => {
  const currentLeaks = leaks;
  leaks = [];
  expect(currentLeaks).toEqual([]);
});

// The next test file in this isolate installs its own proxies.
afterAll(() => {
  Object.assign(globalThis, originals);
});
