/** The lines that `wrangler dev` prints: its own, and those that the Worker logs. Pure. */

import { stripVTControlCharacters } from 'node:util';
import * as z from 'zod';

const WRANGLER_REQUEST = /^\[wrangler:info\] [A-Z]+ \S+ \d{3} .*\(\d+ms\)$/;
/** The Worker's line, before which wrangler sets `✘ [ERROR] ` when it is logged as an error. */
const LOGGED = /\{"level":.*\}/;
const WRANGLER_RELOADED = 'Local server updated and ready';

/** The fields of the Worker's log that matter here: see src/http/log.ts. */
const logLine = z.object({
  level: z.string(),
  request_id: z.string(),
  cause: z.string().default(''),
});

/** Whether wrangler says of a request what the Worker's own line says already. */
export function isRequestLine(line: string): boolean {
  return WRANGLER_REQUEST.test(stripVTControlCharacters(line));
}

/** Whether wrangler serves the Worker anew, after a change of its sources or vars. */
export function isReloadLine(line: string): boolean {
  return line.includes(WRANGLER_RELOADED);
}

/**
 * Returns what the Worker logs about a request: `fault` is the message of the innermost cause, when it
 * logs an error. Undefined for any other line.
 */
export function parseLogLine(line: string): { requestId: string; fault?: string } | undefined {
  const [json = ''] = LOGGED.exec(stripVTControlCharacters(line)) ?? [];
  const parsed = logLine.safeParse(parseJson(json));
  if (!parsed.success) return undefined;
  const { level, request_id: requestId, cause } = parsed.data;
  if (level !== 'error') return { requestId };
  const [innermost = ''] = cause.split('\ncaused by ').at(-1)?.split('\n') ?? [];
  return { requestId, fault: innermost.replace(/^\w*Error: /, '') };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
