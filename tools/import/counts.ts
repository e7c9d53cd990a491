/** The numbers of an import. Pure. */

import type { ListingsFile } from './file.ts';
import type { Plan, Stored } from './plan.ts';

/** The records of one kind in the file, by what became of them. */
export type Counts = { added: number; changed: number; unchanged: number };

export type ImportCounts = { listings: Counts; locations: Counts; amenities: Counts };

/** Counts records. `written` is how many listings of the file differed from what was stored. */
export function countsOf(
  file: ListingsFile,
  plan: Plan,
  stored: Stored,
  written: number,
): ImportCounts {
  const { changedLocations, changedAmenities } = plan;
  return {
    listings: counts(
      plan.sources.length,
      written,
      missing(ids(plan.sources), ids(stored.listings)),
    ),
    locations: counts(
      file.locations.length,
      changedLocations.length,
      missing(ids(changedLocations), ids(stored.locations)),
    ),
    amenities: counts(
      file.amenities.length,
      changedAmenities.length,
      missing(slugs(changedAmenities), slugs(stored.amenities)),
    ),
  };
}

function counts(total: number, written: number, added: number): Counts {
  return { added, changed: written - added, unchanged: total - written };
}

function ids(records: readonly { id: string }[]): string[] {
  return records.map(({ id }) => id);
}

function slugs(records: readonly { slug: string }[]): string[] {
  return records.map(({ slug }) => slug);
}

/** Counts the keys that the store does not hold. */
function missing(keys: readonly string[], stored: readonly string[]): number {
  const known = new Set(stored);
  return keys.filter((key) => !known.has(key)).length;
}
