/** The stacks that the served Worker logs, in lines of src. */

import { readFileSync, statSync } from 'node:fs';
import type { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';
import { parseSourceMap, withSourceLines } from '../command-line/source-lines.ts';

const BUNDLE = /file:\/\/[^\s():"]*\/dev-worker\.js(?=:\d)/;

/** The map that was read last: wrangler writes another one when the Worker changes. */
let known: { key: string; map: SourceMap } | undefined;

/** Returns a line that the Worker has logged with its stack in lines of src, and any other line as it is. */
export function readableStack(line: string): string {
  const [bundle] = BUNDLE.exec(line) ?? [];
  if (bundle === undefined) return line;
  try {
    const file = `${fileURLToPath(bundle)}.map`;
    const key = `${file} ${statSync(file).mtimeMs}`;
    if (known?.key !== key) known = { key, map: parseSourceMap(readFileSync(file, 'utf8')) };
    return withSourceLines(line, known.map);
  } catch {
    // The map is being written, or of a form that is not known: the stack is shown as it came.
    return line;
  }
}
