/**
 * Stacks in lines of src. The runtime never applies a source map to the `stack` of an error, which is what
 * the service logs: it names lines of the bundle.
 */

import { SourceMap } from 'node:module';
import * as z from 'zod';

/** `file:///…/dev-worker.js:14705:14` in development, `index.js:77:3173` where it is deployed. */
const PLACE = /(?:file:\/\/[^\s():"]*\/)?\b(?:index|dev-worker)\.js:(\d+):(\d+)/g;
/** The path within the project. The map has it relative to its own folder. */
const OWN_PATH = /(?:^|\/)((?:src|node_modules)\/.*)$/;

const payload = z.object({
  version: z.number(),
  file: z.string().default(''),
  sources: z.array(z.string()),
  sourcesContent: z.array(z.string()).default([]),
  names: z.array(z.string()),
  mappings: z.string(),
  sourceRoot: z.string().default(''),
});

/** Reads the text of a source map. */
export function parseSourceMap(text: string): SourceMap {
  return new SourceMap(payload.parse(JSON.parse(text)));
}

/** Returns the text with each place in the bundle as a place in the source. One that the map does not know stays. */
export function withSourceLines(text: string, map: SourceMap): string {
  return text.replace(PLACE, (place, line: string, column: string) => {
    const entry = map.findEntry(Number(line) - 1, Number(column) - 1);
    // A place that the map does not have gets the entry of another line.
    if (!('originalSource' in entry) || entry.generatedLine !== Number(line) - 1) return place;
    const { originalSource, originalLine, originalColumn } = entry;
    const [, path = originalSource] = OWN_PATH.exec(originalSource) ?? [];
    return `${path}:${originalLine + 1}:${originalColumn + 1}`;
  });
}
