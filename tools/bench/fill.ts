/** Starts the service with the sample listings, their clones, and events. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { V4SharedOptions } from 'miniflare';
import { EXAMPLES } from '../../src/events/openapi/examples.ts';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';
import { migrate } from '../database/migrations.ts';
import { importListings } from '../import/import.ts';
import { readListingsFile } from '../import/read/json.ts';
import { type Runtime, startRuntime } from '../workerd/runtime.ts';
import { API_KEY } from './requests.ts';

const SAMPLES = join(PROJECT_DIRECTORY, 'tools/samples/listings.json');
const PUBLIC_SITE_URL = 'https://www.example.com';

/** The numbers from the first value to below the second. */
const NUMBERS = `WITH RECURSIVE n(i) AS (
  SELECT CAST(?1 AS INTEGER) UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)`;

/** A clone has a document but no source: it can only be read. */
const CLONED_LISTINGS = `
  INSERT INTO properties
    (id, slug, status, type, location_id, display_order, source, card, document, rendering)
  SELECT printf('00000000-0000-4000-8000-%012x', i), 'home-' || i, p.status, p.type,
    p.location_id, 10000 + i, '{}',
    json_set(p.card, '$.id', printf('00000000-0000-4000-8000-%012x', i)),
    json_set(p.document, '$.display_order', 10000 + i,
      '$.id', printf('00000000-0000-4000-8000-%012x', i)), p.rendering
  FROM n JOIN properties AS p ON p.rowid = 1 + i % ?3`;

/** The events of a hundred thousand aggregates. */
const EVENTS = `
  INSERT INTO events
    (id, key_id, fingerprint, receipt, type, aggregate_type, aggregate_id, payload, created_at)
  SELECT printf('00000000-0000-4000-8000-%012x', i), printf('key-%d', i), printf('%064d', i),
    printf('%036d', i), ?3, ?4, 'filler-' || (i % 100000), ?5, i FROM n`;

/** Starts a bundle with a new database of this size. */
export async function startFilled(
  script: string,
  { listings, events }: { listings: number; events: number },
  options?: V4SharedOptions,
): Promise<Runtime> {
  const runtime = await startRuntime(script, { PUBLIC_SITE_URL, API_KEY }, options);
  const { database } = runtime;
  await migrate(database);
  const samples = readListingsFile(readFileSync(SAMPLES));
  await importListings(samples, {
    database,
    publicSiteUrl: PUBLIC_SITE_URL,
    isDryRun: false,
    onProgress() {},
  });
  const sampleCount = samples.properties.length;
  const insert = (statement: string, ...values: readonly (string | number)[]) =>
    database
      .prepare(NUMBERS + statement)
      .bind(...values)
      .run();
  await insert(CLONED_LISTINGS, sampleCount, listings, sampleCount);
  const { event_type, aggregate_type, payload } = EXAMPLES.body;
  await insert(EVENTS, 0, events, event_type, aggregate_type, JSON.stringify(payload));
  return runtime;
}
