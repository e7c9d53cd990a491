/**
 * `npm run -s stack < FILE`: prints a line of the deployed service's log, or a stack from it, with its
 * stack in lines of src. It builds the bundle of the working copy: check out the commit that was
 * deployed, which the tag of the version names.
 *
 * Exits with 0 when it printed the text, 1 when the bundle cannot be built, 2 when it was given an argument.
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { buildBundle } from './bench/bundle.ts';
import { parseSourceMap, withSourceLines } from './command-line/source-lines.ts';
import { requireKnownEnvironment } from './command-line/wrangler-config.ts';

requireKnownEnvironment();

if (process.argv.length > 2) {
  console.error('usage: npm run -s stack < FILE');
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'stack-'));
try {
  buildBundle('src/index.ts', folder);
  const map = parseSourceMap(readFileSync(join(folder, 'index.js.map'), 'utf8'));
  // A stack inside a JSON line has its line feeds escaped.
  const logged = (await text(process.stdin)).replaceAll('\\n', '\n');
  process.stdout.write(withSourceLines(logged, map));
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}
