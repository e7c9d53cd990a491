/** Recognizes the lines that `wrangler dev` prints: its own, and the lines that the Worker logs. Pure. */

import { stripVTControlCharacters } from 'node:util';
import * as z from 'zod';

const WRANGLER_REQUEST = /^\[wrangler:info\] [A-Z]+ \S+ \d{3} .*\(\d+ms\)$/;
/** The Worker's own part of a line: wrangler sets `✘ [ERROR] ` before an error. */
const LOGGED = /\{"level":.*\}/;
const WRANGLER_RELOADED = 'Local server updated and ready';

/** The fields of the Worker's log that are used here: see src/http/log.ts. */
const logLine = z.object({
  level: z.string(),
  request_id: z.string(),
  cause: z.string().default(''),
});

/** Reports whether this is wrangler's line about a request. The Worker logs one too. */
export function isRequestLine(line: string): boolean {
  return WRANGLER_REQUEST.test(stripVTControlCharacters(line));
}

/** Reports whether wrangler says that it has reloaded the Worker after a change. */
export function isReloadLine(line: string): boolean {
  return line.includes(WRANGLER_RELOADED);
}

/**
 * Parses a line that the Worker logs about a request; undefined for any other line. An error has a `fault`: the message
 * of its innermost cause.
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
