/** A listing as a row of the `properties` table, by the names of its columns. Pure. */

import { render, renderingOf } from './render.ts';
import type { Source } from './source.ts';

/** The columns that a listing is found and ordered by. */
export function keyColumnsOf(listing: Source) {
  return {
    id: listing.id,
    slug: listing.slug,
    status: listing.status,
    type: listing.type,
    location_id: listing.location?.id ?? null,
    display_order: listing.display_order,
  };
}

/** The whole row of a rendered listing. */
export function renderedRowOf(listing: Source, publicSiteUrl: string) {
  const document = render(listing, publicSiteUrl);
  return {
    ...keyColumnsOf(listing),
    source: JSON.stringify(listing),
    document: document && JSON.stringify(document),
    rendering: renderingOf(publicSiteUrl),
  };
}
