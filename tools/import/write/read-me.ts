/** Writes the sheet `read me`, which explains the workbook to its editor. */

import type { WriteSheet } from 'hucre/xlsx';
import { EXPORT_LABEL, READ_ME } from '../read/columns.ts';

const FONT = { name: 'Calibri', size: 11 };

const LINES: readonly (readonly [string, string])[] = [
  ['How to change the catalogue', ''],
  ['Change', 'Change cells, add rows below the last one, and delete rows. Save the file as .xlsx.'],
  [
    'Look',
    'npm run import-listings -- FILE --dry-run shows what would change, and changes nothing.',
  ],
  [
    'Import',
    'npm run import-listings -- FILE imports all of it, or nothing if a cell has a problem.',
  ],
  ['', ''],
  ['What a cell means', ''],
  ['An empty cell', 'clears the field. The import prints a warning for each field that it clears.'],
  ['A column or sheet that you delete', 'changes nothing.'],
  [
    'A row that you delete',
    'in listings, locations and amenities changes nothing. In photos, videos and features it removes the entry from its listing.',
  ],
  ['A column whose name begins with #', 'is yours: the import ignores it.'],
  [
    'A formatted text',
    'is shown without its formatting, and keeps it as long as you do not edit the cell.',
  ],
  [
    'A hidden column',
    'has ids, and marks of the exported values. A cell that you do not edit changes nothing.',
  ],
  ['', ''],
  ['The sheets', ''],
  [
    'listings',
    'A row is a listing. A new one needs slug, name, status and display_order, or is a copied row with another slug.',
  ],
  [
    'photos',
    'A row is a photo of the listing, shown in the order of the numbers. One photo may have yes in hero.',
  ],
  ['videos, features', 'A row is a video or a feature of the listing.'],
  ['locations, amenities', 'The locations and amenities that listings can name.'],
  ['', ''],
  ['The guide', 'docs/guides/listings-file.md'],
];

/** Builds the sheet. An import reads the export's id from it. */
export function readMeSheet(exportId: string): WriteSheet {
  return {
    name: READ_ME,
    rows: [...LINES, [EXPORT_LABEL, exportId]].map((line) => [...line]),
    columns: [
      { width: 34, style: { font: { ...FONT, bold: true }, alignment: { vertical: 'top' } } },
      {
        width: 96,
        style: { font: FONT, alignment: { wrapText: true, vertical: 'top' }, numFmt: '@' },
      },
    ],
  };
}
