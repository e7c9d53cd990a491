/** The bundle that a deployment uploads. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { getBundle } from '../support/node/bundles.ts';

const MAX_GZIPPED_BYTES = 112 * 1_024;
/** Files that are not uploaded: wrangler's note, and the source map. */
const NOT_UPLOADED = /^README\.md$|\.map$/;

const directory = dirname(await getBundle('src/index.ts'));

describe('the deployed bundle', () => {
  it('is one script of at most 112 KiB gzipped', () => {
    const files = readdirSync(directory).filter((name) => !NOT_UPLOADED.test(name));
    expect(files).toEqual(['index.js']);
    const { length } = gzipSync(readFileSync(join(directory, 'index.js')), { level: 9 });
    console.log(`bundle: ${length} bytes gzipped, of ${MAX_GZIPPED_BYTES}`);
    expect(length).toBeLessThanOrEqual(MAX_GZIPPED_BYTES);
  });

  const map = JSON.parse(readFileSync(join(directory, 'index.js.map'), 'utf8'));
  const sources = z
    .object({ sources: z.array(z.string()) })
    .parse(map)
    .sources.map((source) => relative('.', join(directory, decodeURI(source))));

  it('has no code of the API page, the preview or the OpenAPI document', () => {
    const text = readFileSync(join(directory, 'index.js'), 'utf8');
    const foreignText = [/scalar/i, /operationId/, /listProperties/, /api\/docs/, /\/preview/];
    expect(text.includes('/api/v1/web')).toBe(true);
    expect(foreignText.filter((pattern) => pattern.test(text))).toEqual([]);
    const foreignFile =
      /^src\/(.*\/)?(openapi|development)\/|^tools\/|node_modules\/(zod-openapi|@scalar)/;
    expect(sources).toContain('src/app.ts');
    expect(sources.filter((source) => foreignFile.test(source))).toEqual([]);
  });

  it('has exactly the production dependencies', () => {
    const packages = sources
      .map((source) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1] ?? '')
      // A package's own source map can name sources that are not installed.
      .filter((name) => name !== '' && existsSync(join('node_modules', name)));
    const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
    expect([...new Set(packages)].sort()).toEqual(Object.keys(dependencies).sort());
  });
});
