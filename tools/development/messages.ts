/**
 * Formats the messages that `npm run dev` prints: how to use the service, and one line per request.
 */

import { styleText } from 'node:util';
import * as z from 'zod';
import { firstRequests } from '../../src/development/first-requests.ts';
import { parseJson } from '../../src/http/json-text.ts';
import { LOCALHOST_URL } from '../../src/http/localhost.ts';
import { formatOrigin } from './port.ts';

/**
 * Lines of wrangler that `npm run dev` does not print: its list of bindings, and its messages about
 * requests.
 */
const NOISE =
  /^(Using secrets|Your Worker has access|Binding |env\.|⎔ Starting|\[wrangler:info\]|$)/;

/** Log fields to show after the duration. */
const DETAILS = [
  'cache',
  'outcome',
  'caller',
  'error_code',
  'error_param',
  'token_fault',
  'rejected_origin',
] as const;

const requestFields = z.looseObject({
  level: z.literal('info'),
  message: z.literal('request'),
  request_id: z.string(),
  method: z.string(),
  path: z.string(),
  status: z.int(),
  duration_ms: z.number(),
});
const errorFields = z.object({
  level: z.literal('error'),
  message: z.string(),
  request_id: z.string().optional(),
  cause: z.string(),
});

const LOOPBACK_ADDRESS = /^(127\.|::1$)/;
const OPEN_TO_NETWORK =
  'Everyone on this network can use this key, and read and change the local database.';

export const isNoise = (line: string) => NOISE.test(line);

/** Returns the welcome message, which lists the service's addresses and some commands to try. */
export function welcome(
  host: string,
  port: number,
  debuggerPort: number,
  vars: ReadonlyMap<string, string>,
): string {
  const origin = formatOrigin(host, port);
  const [apiKey = ''] = (vars.get('API_KEY') ?? '').split(',').map((key) => key.trim());
  const pages = {
    'Start page': '/',
    Documents: '/docs',
    Preview: '/preview',
    'API page': '/api/docs',
    // Wrangler serves this page.
    'Local Explorer': '/cdn-cgi/explorer',
  };
  // The pages contain the API key, so they are served only at localhost.
  const hasPages = LOCALHOST_URL.test(`${origin}/`);
  const rows = [
    ...(hasPages ? Object.entries(pages).map(([name, path]) => [name, link(origin + path)]) : []),
    ['API key', apiKey],
    ['Debugger', link(`ws://127.0.0.1:${debuggerPort}/ws`)],
  ];
  return [
    `\nReady on ${link(origin)}\n`,
    ...rows.map(([name = '', value]) => `  ${name.padEnd(16)}${value}`),
    ...(LOOPBACK_ADDRESS.test(host) ? [] : ['', OPEN_TO_NETWORK]),
    ...(hasPages ? [] : ['The pages are at localhost only. Use --host 0.0.0.0 to see them.']),
    '\nTry:\n',
    `curl -s ${origin}/api/health`,
    ...firstRequests(origin, apiKey),
    '',
  ].join('\n');
}

/**
 * Formats a line of the Worker's log. Other lines are returned unchanged. `at` is the current time
 * of day.
 *
 * @example
 * // 10:42:07 GET /api/v1/web/properties?limit=2 200 27 ms database api-key req_69db…
 */
export function formatLogLine(line: string, at: string): string {
  const [json] = /\{"level":.*\}/.exec(line) ?? [];
  const fields = parseJson(json);
  const { data: request } = requestFields.safeParse(fields);
  if (request !== undefined) {
    const { status, method, path, duration_ms } = request;
    const color = status < 400 ? 'green' : status < 500 ? 'yellow' : 'red';
    const head = `${at} ${method} ${path} ${styleText(color, String(status))} ${duration_ms} ms`;
    const details = DETAILS.map((name) => request[name]);
    return [head, ...details, shortenId(request.request_id)].filter(Boolean).join(' ');
  }
  const { data: error } = errorFields.safeParse(fields);
  if (error === undefined) return line;
  const head = `${at} ${styleText('red', error.message)} ${shortenId(error.request_id)}`.trimEnd();
  return `${head}\n    ${error.cause.replaceAll('\n', '\n    ')}`;
}

function shortenId(id = ''): string {
  return id.length > 10 ? `${id.slice(0, 8)}…` : id;
}

const link = (url: string) => styleText(['cyan', 'underline'], url);
