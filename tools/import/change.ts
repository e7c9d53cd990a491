/** The change that an import makes to a listing of the feed, for the list of changes. Pure. */

import { render } from '../../src/properties/render.ts';
import { type Source, source } from '../../src/properties/source.ts';

/** A listing as the store holds it. */
export type StoredListing = {
  id: string;
  slug: string;
  status: string;
  /** Null for a hidden listing, and for one that is not rendered yet. */
  document: string | null;
  /** Null where there is a document. */
  source: string | null;
  change_seq: number;
  changed_at: number | null;
  removed_slug: string | null;
  catalogue_end: string | null;
};

/** The columns of a listing's latest change. A new change gets its sequence when it is applied. */
export type ChangeColumns = Pick<StoredListing, 'changed_at' | 'removed_slug' | 'catalogue_end'> & {
  change_seq: number | null;
};

const NEW = { change_seq: null, changed_at: null, removed_slug: null, catalogue_end: null };
const NEVER = { ...NEW, change_seq: 0 };

/** Returns the columns of the latest change, once `listing` has taken the place of `stored`. */
export function changeColumnsOf(
  stored: StoredListing | undefined,
  listing: Source,
  publicSiteUrl: string,
): ChangeColumns {
  const wasPublic = stored !== undefined && stored.status !== 'hidden';
  const isPublic = listing.status !== 'hidden';
  if (wasPublic && !isPublic) return { ...NEW, removed_slug: stored.slug };
  const showsTheSame =
    wasPublic === isPublic &&
    (!wasPublic || shownBy(stored, publicSiteUrl) === shown(listing, publicSiteUrl));
  if (!showsTheSame) return NEW;
  if (stored === undefined) return NEVER;
  const { change_seq, changed_at, removed_slug, catalogue_end } = stored;
  return { change_seq, changed_at, removed_slug, catalogue_end };
}

/** Returns what the feed shows of a public listing. */
function shown(listing: Source, publicSiteUrl: string): string {
  return JSON.stringify(render(listing, publicSiteUrl));
}

/** Returns what the feed shows of a stored listing that is public. */
function shownBy({ document, source: text }: StoredListing, publicSiteUrl: string): string {
  if (document !== null) return JSON.stringify(JSON.parse(document));
  return shown(source.parse(JSON.parse(text ?? 'null')), publicSiteUrl);
}
