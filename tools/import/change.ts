/** The change that an import makes to a listing of the feed, for the list of changes. Pure. */

import { render } from '../../src/properties/render.ts';
import type { Source } from '../../src/properties/source.ts';

const MAX_FORMER_SLUGS = 20;

/** A listing as the store holds it. */
export type StoredListing = {
  id: string;
  slug: string;
  status: string;
  /** Null for a hidden listing, and for one whose rendering was interrupted. */
  document: string | null;
  source: string;
  change_seq: number | null;
  changed_at: number | null;
  removed_slug: string | null;
  /** JSON of a list. */
  former_slugs: string;
};

/** The columns of a listing's latest change. `is_new`: the change gets its place and time when it is applied. */
export type ChangeColumns = Pick<StoredListing, 'change_seq' | 'changed_at' | 'removed_slug'> & {
  is_new: boolean;
  former_slugs: string[];
};

const NONE = { change_seq: null, changed_at: null, removed_slug: null };

/** Returns the columns of the latest change, when `listing` replaces `stored`. */
export function changeColumnsOf(
  stored: StoredListing | undefined,
  listing: Source,
  publicSiteUrl: string,
): ChangeColumns {
  const isPublic = listing.status !== 'hidden';
  if (stored === undefined) return { ...NONE, is_new: isPublic, former_slugs: [] };
  const former_slugs = formerSlugsOf(stored, listing);
  const wasPublic = stored.status !== 'hidden';
  if (wasPublic && !isPublic) {
    return { ...NONE, is_new: true, removed_slug: stored.slug, former_slugs };
  }
  if (isPublic && !(wasPublic && showsTheSame(stored, listing, publicSiteUrl))) {
    return { ...NONE, is_new: true, former_slugs };
  }
  const { change_seq, changed_at, removed_slug } = stored;
  return { is_new: false, change_seq, changed_at, removed_slug, former_slugs };
}

/**
 * Reports whether the feed shows a public listing as before. This is not known for a listing whose rendering was
 * interrupted, because readers may have seen it by other rules or for another site: such a listing counts as changed.
 */
function showsTheSame({ document }: StoredListing, listing: Source, publicSiteUrl: string) {
  if (document === null) return false;
  return JSON.stringify(JSON.parse(document)) === JSON.stringify(render(listing, publicSiteUrl));
}

/** Returns the slugs under which a listing was public before, newest first. */
function formerSlugsOf(stored: StoredListing, { slug, status }: Source): string[] {
  const former: string[] = JSON.parse(stored.former_slugs);
  const last = stored.status === 'hidden' ? stored.removed_slug : stored.slug;
  // The last public slug of a removed listing becomes a former slug when the listing is public again.
  if (status === 'hidden' || last === null) return former;
  return [last, ...former.filter((each) => each !== last)]
    .filter((each) => each !== slug)
    .slice(0, MAX_FORMER_SLUGS);
}
