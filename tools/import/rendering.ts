/** The last step of an import: it renders the documents and cards of the applied listings. */

import { cardOf, render, renderingOf } from '../../src/properties/render.ts';
import type { Source } from '../../src/properties/source.ts';
import { patiently } from '../database/patiently.ts';
import { pendingRenderingOf } from './apply.ts';
import { jsonBatchesOf, jsonOf, type StagedRow } from './rows.ts';
import type { Staging } from './staging.ts';

/**
 * Renders the listings of the batches, unless another import has replaced them. Returns whether it rendered all of
 * them: the others are rendered when they are read.
 */
export async function renderApplied(
  { database, importId, publicSiteUrl }: Staging,
  batches: readonly StagedRow[][],
  onProgress: (done: number, total: number) => void,
): Promise<boolean> {
  const listings = batches.flat().map((row) => row.listing);
  const update = database.prepare(
    `UPDATE properties
     SET document = new.value->>'document', card = new.value->>'card', rendering = ?2
     FROM json_each(?1) AS new
     WHERE properties.id = new.value->>'id' AND properties.rendering = ?3`,
  );
  const rendering = renderingOf(publicSiteUrl);
  const pending = pendingRenderingOf(importId);
  let done = 0;
  try {
    for (const batch of jsonBatchesOf(documentsOf(listings, publicSiteUrl))) {
      const bound = update.bind(jsonOf(batch), rendering, pending);
      await patiently(() => bound.run());
      done += batch.length;
      onProgress(done, listings.length);
    }
    return true;
  } catch {
    return false;
  }
}

function* documentsOf(listings: readonly Source[], publicSiteUrl: string) {
  for (const listing of listings) {
    const document = render(listing, publicSiteUrl);
    const card = document && cardOf(document);
    yield { json: JSON.stringify({ id: listing.id, document, card }) };
  }
}
