/**
 * Fails a test in workerd if a line of the log contains a credential, an Idempotency-Key or a value
 * of a body. Collects these values from every `Request` that a test makes.
 * test/http/hostile-http.node.test.ts reads the log over real HTTP.
 *
 * Hides the thousands of lines of the access log.
 */

import { LRUCache } from 'lru-cache';
import { afterAll, afterEach, expect } from 'vitest';

const SECRET_HEADERS = ['x-api-key', 'authorization', 'idempotency-key', 'cookie'];
const MAX_VALUES_PER_BODY = 50;
const ACCESS_LOG_LINE = '{"level":"info","message":"request"';
/** Shorter values are words that any log line can contain. */
const MIN_CHARACTERS = 8;
/** Event types, and words of routes and of JavaScript, which a log line can contain too. */
const HARMLESS =
  /^(booking\.\w+|property|properties|property-changes|locations|detailed|undefined|function|constructor)$/;

/** Values of the last requests. Lines about earlier ones no longer come. */
const values = new LRUCache<string, true>({ max: 500 });
let leaks: string[] = [];

/** Remembers a value, and its form in JSON. */
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

/** Lists the string values of a JSON body. Another body is one string. */
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

/** Describes each remembered value in a line. Ignores the request id and the times. */
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
      // The spy of a test is an own property.
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

// The next test file of this isolate installs its own proxies.
afterAll(() => {
  Object.assign(globalThis, originals);
});
