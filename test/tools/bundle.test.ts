/** The bundle that a deployment uploads. */

import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';

const MAX_GZIPPED_BYTES = 96 * 1_024;
/** Files that are not uploaded: a note, and the map from the bundle to its sources. */
const NOT_UPLOADED = /^README\.md$|\.map$/;

const directory = mkdtempSync(join(tmpdir(), 'bundle-'));

beforeAll(async () => {
  const env = {
    ...process.env,
    WRANGLER_SEND_METRICS: 'false',
    CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  };
  const wrangler = join('node_modules', '.bin', 'wrangler');
  await promisify(execFile)(wrangler, ['deploy', '--dry-run', '--outdir', directory], { env });
});

afterAll(() => {
  rmSync(directory, { recursive: true });
});

describe('the deployed bundle', () => {
  it('is one script of at most 96 KiB gzipped', () => {
    const files = readdirSync(directory).filter((name) => !NOT_UPLOADED.test(name));
    expect(files).toEqual(['index.js']);
    const { length } = gzipSync(readFileSync(join(directory, 'index.js')), { level: 9 });
    console.log(`bundle: ${length} bytes gzipped, of ${MAX_GZIPPED_BYTES}`);
    expect(length).toBeLessThanOrEqual(MAX_GZIPPED_BYTES);
  });

  it('has nothing of the documentation page and of the OpenAPI document', () => {
    const text = readFileSync(join(directory, 'index.js'), 'utf8');
    const foreignText = [/swagger/i, /operationId/, /listProperties/, /api\/docs/];
    expect(text.includes('/api/v1/web')).toBe(true);
    expect(foreignText.filter((each) => each.test(text))).toEqual([]);

    const map = JSON.parse(readFileSync(join(directory, 'index.js.map'), 'utf8'));
    const { sources } = z.object({ sources: z.array(z.string()) }).parse(map);
    const foreignFile =
      /src\/docs\/|\/tools\/|openapi[\w-]*\.ts$|node_modules\/(zod-openapi|swagger)/;
    expect(sources.some((source) => source.endsWith('src/app.ts'))).toBe(true);
    expect(sources.filter((source) => foreignFile.test(source))).toEqual([]);
  });
});
