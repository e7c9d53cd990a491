/** What `dev` prints: how to use the service, and a line for each request. Pure. */

import { styleText } from 'node:util';
import * as z from 'zod';
import { findFaults } from '../../src/config.ts';
import { firstRequests } from '../../src/development/first-requests.ts';

/** Wrangler's list of bindings, and its lines of requests. */
const NOISE =
  /^(Using secrets|Your Worker has access|Binding |env\.|⎔ Starting|\[wrangler:info\]|$)/;

const NOTES = ['cache', 'outcome', 'caller', 'error_code', 'error_param'];
const logged = z.looseObject({ status: z.int(), rejected_origin: z.string().optional() });

export const isNoise = (line: string) => NOISE.test(line);

export function welcome(origin: string, debuggerPort: number, vars: ReadonlyMap<string, string>) {
  const faults = findFaults(Object.fromEntries(vars));
  if (faults.length > 0) {
    return `\nNot ready: every response of ${origin} is an error: ${faults.join('; ')}. Restart after a change of .dev.vars.\n`;
  }
  const keys = (vars.get('API_KEY') ?? '').split(',').map((key) => key.trim());
  const apiKey = keys.find((key) => key !== '') ?? '';
  const pages = {
    'Start page': '/',
    Documents: '/docs',
    Preview: '/preview',
    'API page': '/api/docs',
    // Wrangler's.
    'Local Explorer': '/cdn-cgi/explorer',
  };
  const rows = [
    ...(vars.get('ENVIRONMENT') === 'development'
      ? Object.entries(pages).map(([name, path]) => [name, link(origin + path)])
      : []),
    ['API key', apiKey || 'API_KEY is empty in .dev.vars: only health will respond'],
    ['Debugger', link(`ws://127.0.0.1:${debuggerPort}/ws`)],
  ];
  return [
    `\nReady on ${link(origin)}\n`,
    ...rows.map(([name = '', value]) => `  ${name.padEnd(16)}${value}`),
    '\nTry:\n',
    `curl -s ${origin}/api/health`,
    ...firstRequests(origin, apiKey),
    '',
  ].join('\n');
}

/** e.g. `200 GET /api/v1/web/properties 12 ms memory site` */
export function requestLine(line: string): string | undefined {
  if (!line.startsWith('{"level":"info","message":"request"')) return undefined;
  const fields = logged.parse(JSON.parse(line));
  const { status, method, route, duration_ms, rejected_origin } = fields;
  const color = status < 400 ? 'green' : status < 500 ? 'yellow' : 'red';
  const hint = rejected_origin && `${rejected_origin} is not in CORS_ORIGINS`;
  const head = `${styleText(color, String(status))} ${method} ${route} ${duration_ms} ms`;
  return [head, ...NOTES.map((name) => fields[name]), hint].filter(Boolean).join(' ');
}

const link = (url: string) => styleText(['cyan', 'underline'], url);
