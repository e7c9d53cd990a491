/** The cost of an ingest where docs/operate/cost.md has no row. */

import { env } from 'cloudflare:workers';
import { describe, expect, it } from 'vitest';
import { type Costs, counting } from '../support/counting.ts';
import { bookingCreated, ingestInit } from '../support/events.ts';
import { expectStatus, sendWith } from '../support/http.ts';

const INGEST = '/api/public/events/ingest';

/** Sends one request and returns its cost, including the work after the response. */
async function costOf(path: string, init: RequestInit, status: number): Promise<Costs> {
  const counted = counting(env);
  await expectStatus(await sendWith(counted.env, path, init), status);
  return counted.costs;
}

describe('an ingest', () => {
  it('writes no row and no KV entry for a conflict or an invalid body', async () => {
    const key = crypto.randomUUID();
    await costOf(INGEST, ingestInit(bookingCreated(), key), 202);
    const nothingWritten = { d1RoundTrips: 1, d1RowsWritten: 0, kvReads: 1, kvWrites: 0 };
    const other = ingestInit(bookingCreated({ aggregate_id: 'other' }), key);
    expect(await costOf(INGEST, other, 409)).toMatchObject(nothingWritten);
    const invalid = ingestInit(bookingCreated({ payload: { guests: 0 } }), crypto.randomUUID());
    expect(await costOf(INGEST, invalid, 400)).toMatchObject(nothingWritten);
  });

  it('calls no store for an unreadable body, an invalid key, or an invalid body without a key', async () => {
    const nothing = { d1RoundTrips: 0, kvReads: 0, kvWrites: 0, counterCalls: 0 };
    expect(await costOf(INGEST, ingestInit('{', 'key'), 400)).toMatchObject(nothing);
    expect(await costOf(INGEST, ingestInit('{}'), 400)).toMatchObject(nothing);
    expect(await costOf(INGEST, ingestInit(bookingCreated(), ''), 400)).toMatchObject(nothing);
  });
});
