/** Writes listings files for exports and undo files, with one record per line. */

import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Amenity, Location, Source } from '../../../src/properties/source.ts';
import { describeError, UserError } from '../../command-line/user-error.ts';
import { type FileListing, makeUndoneSlug, toFileListing } from '../catalogue/records.ts';
import { computeVersion } from '../catalogue/version.ts';
import type { Effect } from '../plan/plan.ts';

/** Keys of records that the undone import had added. */
type Removed = { locations: string[]; amenities: string[] };

type Header = {
  export_id?: string;
  /** Id of the import that the file undoes. */
  operation?: string;
};

type Records = Header & {
  locations: readonly Location[];
  amenities: readonly Amenity[];
  removed?: Removed;
};

/** A listing with its version when it was exported. */
type WrittenListing = FileListing & { as_of: string };

export function toWrittenListing(listing: Source): WrittenListing {
  return { ...toFileListing(listing), as_of: computeVersion(listing) };
}

export function* writeListingsFile(
  { locations, amenities, removed, export_id, operation }: Records,
  listings: Iterable<WrittenListing>,
): Generator<string> {
  yield '{\n';
  for (const [name, id] of Object.entries({ export_id, operation })) {
    if (id !== undefined) yield `"${name}": "${id}",\n`;
  }
  yield `"locations": [${formatRecords(locations)}],\n"amenities": [${formatRecords(amenities)}],\n`;
  if (removed !== undefined) yield `"removed": ${JSON.stringify(removed)},\n`;
  yield '"properties": [';
  let separator = '';
  for (const listing of listings) {
    yield `${separator}\n${JSON.stringify(listing)}`;
    separator = ',';
  }
  yield '\n]\n}\n';
}

function formatRecords(records: readonly object[]): string {
  return records.map((record) => `\n${JSON.stringify(record)}`).join(',');
}

/**
 * Prepares the file that undoes an import. `save` creates it, and never replaces an existing file.
 */
export function undoFileAt(path: string) {
  let isCreated = false;
  return {
    path,
    isSaved: () => isCreated,
    save(effect: Effect, operation: string): void {
      try {
        mkdirSync(dirname(path), { recursive: true });
        const file = openSync(path, 'wx');
        isCreated = true;
        for (const piece of writeUndoFile(effect, operation)) writeSync(file, piece);
        closeSync(file);
      } catch (error) {
        throw new UserError(
          `The undo file was not written: ${describeError(error)}. Choose another one with --undo, or import without one with --no-undo.`,
        );
      }
    },
    discard(): void {
      if (isCreated) rmSync(path, { force: true });
      isCreated = false;
    },
  };
}

/**
 * Writes an undo file, which restores changed records, hides added listings, and removes added
 * locations and amenities.
 */
export function writeUndoFile(
  { recordChanges, listings }: Effect,
  operation: string,
): Generator<string> {
  const locations: Location[] = [];
  const amenities: Amenity[] = [];
  const removed: Removed = { locations: [], amenities: [] };
  for (const { kind, key, old } of recordChanges) {
    if (old === undefined) removed[kind === 'location' ? 'locations' : 'amenities'].push(key);
    else if ('label' in old) amenities.push(old);
    else locations.push(old);
  }
  const changed = listings.filter(({ reason }) => reason !== 'outside');
  const slugs = new Set(changed.map(({ old }) => old?.slug));
  const restored = changed.map(({ old, listing }) => ({
    ...(old ? toFileListing(old.listing) : hiddenListing(listing, slugs, removed)),
    as_of: computeVersion(listing),
  }));
  return writeListingsFile({ operation, locations, amenities, removed }, restored);
}

/**
 * Returns an added listing as hidden. Its slug is replaced if a restored listing needs it, and
 * references to removed records are dropped.
 */
function hiddenListing(
  listing: Source,
  restoredSlugs: ReadonlySet<string | undefined>,
  { locations, amenities }: Removed,
): FileListing {
  const fileListing = toFileListing(listing);
  const { id, slug, location_id } = fileListing;
  return {
    ...fileListing,
    status: 'hidden',
    slug: restoredSlugs.has(slug) ? makeUndoneSlug(id) : slug,
    location_id: location_id !== null && locations.includes(location_id) ? null : location_id,
    amenities: fileListing.amenities.filter((amenity) => !amenities.includes(amenity)),
  };
}
