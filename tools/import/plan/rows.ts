/** Renders listings as rows of the table `properties`, with their latest change in the feed. */

import { formatRendering, render, toCard } from '../../../src/properties/render.ts';
import type { Source } from '../../../src/properties/source.ts';
import type { properties } from '../../../src/properties/table.ts';
import type { StoredListing } from '../catalogue/store.ts';
import type { FileLocation, ImportProblem } from '../read/problem.ts';

/**
 * Renders a listing as a row. The columns of its latest change are missing: see
 * `resolveLatestChange`.
 */
export function renderRow(listing: Source, publicSiteUrl: string) {
  const document = render(listing, publicSiteUrl);
  const source = JSON.stringify(listing);
  const columns = {
    id: listing.id,
    slug: listing.slug,
    status: listing.status,
    type: listing.type,
    location_id: listing.location?.id ?? null,
    display_order: listing.display_order,
    rendering: formatRendering(publicSiteUrl),
    card: document && JSON.stringify(toCard(document)),
    document: document && JSON.stringify(document),
    source,
  } satisfies typeof properties.$inferInsert;
  return { listing, columns };
}

export type ListingRow = ReturnType<typeof renderRow>;

const MAX_FORMER_SLUGS = 20;

/**
 * Returns the columns of a listing's latest change after a new row has replaced `old`. If the feed
 * changes, write/apply.ts sets the number and the time of the change.
 */
export function resolveLatestChange(
  old: StoredListing | undefined,
  { document, slug, status }: ListingRow['columns'],
) {
  const { change_seq = null, changed_at = null } = old ?? {};
  const latest = { change_seq, changed_at, changesFeed: document !== (old?.document ?? null) };
  const lastPublicSlug = old?.status === 'hidden' ? old.removed_slug : (old?.slug ?? null);
  const previousSlugs: string[] = JSON.parse(old?.former_slugs ?? '[]');
  if (status === 'hidden')
    return { ...latest, removed_slug: lastPublicSlug, former_slugs: previousSlugs };
  // If a listing becomes public again under a new slug, its last public slug is a former one.
  const slugs = new Set(
    lastPublicSlug === null ? previousSlugs : [lastPublicSlug, ...previousSlugs],
  );
  slugs.delete(slug);
  const former_slugs = [...slugs].slice(0, MAX_FORMER_SLUGS);
  return { ...latest, removed_slug: null, former_slugs };
}

/** Maximum size of a listing's source, and of its document and card. A row of D1 can have 2 MB. */
const MAX_BYTES = 900_000;

/** Returns a problem if a listing is too large to store or to show. */
export function checkSize({ columns }: ListingRow, location: FileLocation): ImportProblem[] {
  const stored = Buffer.byteLength(columns.source);
  const rendered = Buffer.byteLength(`${columns.document}${columns.card}`);
  const [use, bytes] = stored > MAX_BYTES ? ['store', stored] : ['show', rendered];
  if (bytes <= MAX_BYTES) return [];
  const message = `is too large to ${use}: ${bytes} bytes, at most ${MAX_BYTES}`;
  return [{ location, path: '', message }];
}
