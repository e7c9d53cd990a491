/** Lists the records of an exported workbook by sheet, each with its row mark. */

import type { Source } from '../../../src/properties/source.ts';
import type { Fields } from '../catalogue/records.ts';
import type { Catalogue } from '../catalogue/store.ts';
import { type StoredRow, toListingRow, toListRows, toRecordRow } from '../match/stored-rows.ts';
import { AS_OF, dataColumns, LIST_NAMES, type ListName, type SheetName } from '../read/columns.ts';
import { formatListMark, formatMark, hashDatabase, hashText } from '../read/marks.ts';

export type StoredRecords = Pick<Catalogue, 'locations' | 'amenities' | 'lineage' | 'generation'>;

export function listSheetRecords(
  stored: StoredRecords,
  listings: readonly Source[],
  exportId: string,
): Record<SheetName, readonly Fields[]> {
  const { locations, amenities } = stored;
  const source = { export: hashText(exportId), database: hashDatabase(stored) };
  const withMark = (
    name: SheetName,
    { key, record }: StoredRow,
    others: Record<string, string> = {},
  ): Fields => ({
    ...record,
    [AS_OF.field]: formatMark(dataColumns(name), record, { key, ...source, ...others }),
  });
  const listingRows = listings.map((listing) => toListingRow(listing));
  const buildListRows = (name: ListName) =>
    listingRows.flatMap((listingRow) => {
      const { slug: listing, hero_photo_id } = listingRow.record;
      const rows = toListRows(listingRow, name);
      const { [name]: order = '' } = formatListMark(name, rows);
      const texts = {
        listing: hashText(listingRow.label),
        [name]: order,
        ...formatHero(listingRow),
      };
      return rows.map(
        (row, index): Fields => ({
          // A feature does not store its position.
          order: index + 1,
          ...withMark(name, row, texts),
          hero: row.record.id === hero_photo_id ? true : null,
          listing,
        }),
      );
    });
  return {
    listings: listingRows.map((listingRow) => {
      const lists = LIST_NAMES.map((name) => formatListMark(name, toListRows(listingRow, name)));
      return withMark('listings', listingRow, Object.assign(formatHero(listingRow), ...lists));
    }),
    photos: buildListRows('photos'),
    videos: buildListRows('videos'),
    features: buildListRows('features'),
    locations: locations.map((record) => withMark('locations', toRecordRow('locations', record))),
    amenities: amenities.map((record) => withMark('amenities', toRecordRow('amenities', record))),
  };
}

function formatHero({ record: { hero_photo_id } }: StoredRow): Record<string, string> {
  return { hero: hashText(`${hero_photo_id ?? ''}`) };
}
