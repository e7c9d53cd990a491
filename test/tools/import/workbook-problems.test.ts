/** What is wrong in a workbook is said by its cell, and the repair that the sentence names is imported. */

import { writeXlsx } from 'hucre/xlsx';
import { beforeAll, describe, expect, it } from 'vitest';
import { fileOf, propertyOf } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';
import {
  errorCell,
  formulaCell,
  openDocument,
  type Value,
  workbook,
  zip,
} from '../../support/node/workbook.ts';

const imports = openMemoryImports();
const marea = propertyOf({
  slug: 'casa-marea',
  photos: [
    { url: 'https://a.example/1.jpg', section: 'hero', web_visible: true, web_sort_order: 1 },
  ],
});
beforeAll(async () => {
  const others = Array.from({ length: 9 }, (_, at) => propertyOf({ slug: `other-${at}` }));
  await imports.load(fileOf([marea, ...others]));
});

const DAY = new Date(Date.UTC(2026, 7, 1));
const PHOTO = 'https://a.example/2.jpg';
const TOO_LONG = 1_234_567_890_123_456;

/** The sheet, its column, and the cell that is wrong and right. */
type CellCase = [column: string, wrong: Value, problem: string, right: Value];

const LISTINGS: CellCase[] = [
  [
    'price_from',
    '295.000',
    'price_from "295.000" is no number: format the cell as a number, and write 295000',
    295000,
  ],
  ...(
    [
      ['€ 1.295.000,50', 1295000.5],
      ['295 000 €', 295000],
      ["CHF 1'200", 1200],
      ['85,5', 85.5],
      ['-', 'a number'],
      ['on request', 'a number'],
      ['2 or 3', 'a number'],
      ['1.2.3', 'a number'],
    ] as const
  ).map(
    ([text, write]): CellCase => [
      'price_from',
      text,
      `price_from "${text}" is no number: format the cell as a number, and write ${write}`,
      typeof write === 'number' ? write : 1,
    ],
  ),
  ['price_from', true, 'price_from true is no number: format the cell as a number', 1],
  ['beds', 2.5, 'beds 2.5 must be a whole number', 2],
  [
    'beds',
    DAY,
    'beds "2026-08-01T00:00:00.000Z" is a date: format the cell as a number, and write it again',
    8,
  ],
  ['fraction_from', DAY, 'is a date: format the cell as text, and write it again', '1/8'],
  ['city', true, 'city true is no text: format the cell as text, and write it again', 'TRUE'],
  [
    'hid',
    TOO_LONG,
    'is a number with more than 15 digits, which a spreadsheet rounds: format the cell as text, and write it again',
    `${TOO_LONG}`,
  ],
  ['status', 1, 'status 1 must be a text, one of listed, coming_soon, sold_out, hidden', 'listed'],
  [
    'status',
    'sold',
    'status "sold" must be one of listed, coming_soon, sold_out, hidden',
    'sold_out',
  ],
  ['status', null, 'status must not be empty', 'listed'],
  ['name', null, 'name must not be empty', 'Casa Marea'],
  ['is_early_access', 'maybe', 'is_early_access "maybe" must be yes or no', 'no'],
  ['is_early_access', 1, 'is_early_access 1 must be yes or no', 'yes'],
  ['location', 'bai', 'location "bai" is not known: did you mean bay?', 'bay'],
  ['amenities', 'wifi, wify', 'amenity "wify" is not known: did you mean wifi?', 'wifi'],
  ['title.en', '#N/A', '', '#N/A'],
];

describe('a cell of listings', () => {
  it.each(LISTINGS)('%s %s', async (column, wrong, problem, right) => {
    const of = async (cell: Value) => {
      const rows = [
        ['slug', column],
        ['casa-marea', cell],
      ];
      // As a text: the library would write an error.
      const text = typeof cell === 'string' && {
        value: cell,
        type: 'richText' as const,
        richText: [{ text: cell }],
      };
      const cells = new Map(text ? [['1,1', text]] : []);
      return await imports.loadWorkbook(
        await workbook({ listings: rows }, { listings: { cells } }),
        '--no-undo',
      );
    };
    const { code, stderr } = await of(wrong);
    if (problem !== '') {
      expect([code, stderr]).toEqual([1, expect.stringContaining(problem)]);
      expect(stderr).toMatch(/^listings!B2 \(slug "casa-marea"\): /);
      expect(stderr).toMatch(/\n1 problem\. Nothing was changed\.\n$/);
    }
    expect(await of(right)).toMatchObject({ code: 0, stderr: '' });
  });
});

const ROWS = [
  ['listing', 'url', 'alt.en', 'section'],
  ['casa-marea', PHOTO, 'Pool', 'hero'],
] as const;
const photos = (row: Value[], ...more: Value[][]) => ({
  photos: [[...ROWS[0]], [...ROWS[1]], row, ...more],
});
const fields = ['slug', 'name', 'status', 'display_order'];
const home = ['new', 'New', 'listed', 1];
const { id } = marea;

type Content = Parameters<typeof workbook>[0];
type SheetCase = [title: string, wrong: Content, problems: string[], right: Content];

const SHEETS: SheetCase[] = [
  [
    'a cell of photos',
    photos(['casa-marea', 'a/1.jpg', 'The sea', 'garden']),
    [
      'photos!B3 (slug "casa-marea"): url "a/1.jpg" must be an absolute http or https URL',
      'photos!D3 (slug "casa-marea"): section "garden" must be one of hero, gallery, studio, location, what_to_do, other',
    ],
    photos(['casa-marea', 'https://a.example/3.jpg', 'The sea', 'other']),
  ],
  [
    'a listing that is not known, or none',
    photos(['casa-mare', PHOTO, 'x', 'other'], [null, PHOTO, null, null]),
    [
      'listing must be the slug of a listing: 2 listings, first casa-mare (photos!A3): "casa-mare": did you mean casa-marea?',
    ],
    photos(['casa-marea', `${PHOTO}?3`, 'x', 'other']),
  ],
  [
    'a photo twice, and two hero photos',
    {
      photos: [
        ['listing', 'url', 'hero'],
        ['casa-marea', PHOTO, 'yes'],
        ['casa-marea', PHOTO, 'yes'],
      ],
    },
    [
      'photos!C3 (slug "casa-marea"): hero is a second hero photo: one photo of a listing may have yes',
      'repeats photos!',
    ],
    {
      photos: [
        ['listing', 'url', 'hero'],
        ['casa-marea', PHOTO, 'yes'],
        ['casa-marea', `${PHOTO}?3`, 'no'],
      ],
    },
  ],
  [
    'a copied row',
    {
      listings: [
        ['slug', 'id', 'name', 'status', 'display_order'],
        ['casa-marea', id, 'A', 'listed', 1],
        ['copy', id, 'B', 'listed', 2],
      ],
    },
    [
      `listings!B3 (slug "copy"): id "${id}" repeats the id of listings!A2 (slug "casa-marea"): empty this cell in a copied row`,
    ],
    {
      listings: [
        ['slug', 'id', 'name', 'status', 'display_order'],
        ['casa-marea', id, 'A', 'listed', 1],
        ['copy', null, 'B', 'listed', 2],
      ],
    },
  ],
  [
    'columns of no field',
    {
      listings: [
        [...fields, 'Notes', 'titel.en', 'city', 'City', null],
        [...home, 1, 2, 3, 4, 'stray'],
      ],
    },
    [
      'listings!E1: "Notes" is no column of this sheet: delete it, or begin its name with #',
      'listings!F1: "titel.en" is no column of this sheet: did you mean title.en?',
      'listings!H1: "City" heads two columns: delete one, or begin its name with #',
      'listings!I2: "stray" is in a column without a name: delete it, or write # into listings!I1',
    ],
    {
      listings: [
        [...fields, '#Notes', 'title.en', 'city', '#City', '#'],
        [...home, 1, '2', '3', 4, 'stray'],
      ],
    },
  ],
  [
    'a title above the header',
    { listings: [['Our homes'], [null], ['slug', 'city'], ['casa-marea', 'Palma']] },
    ['listings!A1: is no header, which is in row 3: delete the rows before that one'],
    {
      listings: [
        ['slug', 'city'],
        ['casa-marea', 'Palma'],
      ],
    },
  ],
  [
    'no key, in two sheets',
    { listings: [['city'], ['Palma']], photos: [['url'], [PHOTO]] },
    [
      'listings!A1: is no header with the column slug or hid or id, which the sheet listings needs',
      'photos!A1: is no header with the column listing, which the sheet photos needs',
    ],
    {
      listings: [
        ['slug', 'city'],
        ['casa-marea', 'Palma'],
      ],
      photos: [
        ['listing', 'url'],
        ['casa-marea', PHOTO],
      ],
    },
  ],
  [
    'a row without a key, and a new listing without its fields',
    {
      listings: [
        ['slug', 'name'],
        [null, 'Nobody'],
        ['newer', 'Newer'],
      ],
    },
    [
      'listings!A2 (name "Nobody"): names no listing: give its slug, hid or id',
      'listings!A3 (slug "newer"): no listing is stored under this slug, and a new one needs status, display_order',
    ],
    { listings: [fields, ['newer', 'Newer', 'listed', 2]] },
  ],
  [
    'no sheet of a catalogue',
    { Sheet1: [['slug'], ['casa-marea']] },
    [
      'the file: has no sheet of a catalogue, but Sheet1: name its sheets listings, photos, videos, features, locations, amenities',
    ],
    {
      listings: [
        ['slug', 'city'],
        ['casa-marea', 'Inca'],
      ],
    },
  ],
];

describe('a sheet', () => {
  it.each(SHEETS)('%s', async (_title, wrong, problems, right) => {
    const rejected = await imports.loadWorkbook(await workbook(wrong));
    const lines = rejected.stderr.trimEnd().split('\n');
    expect(lines.pop()).toContain('Nothing was changed.');
    expect(lines).toEqual(problems.map((each) => expect.stringContaining(each)));
    expect(await imports.loadWorkbook(await workbook(right), '--no-undo')).toMatchObject({
      code: 0,
    });
  });

  it.each(['#,##0.00 [$€-42D]', '#,##0 [$kr-81D];[Red]-#,##0 [$kr-81D]'])(
    'a price in the format %s is no date, whatever the tag of the language',
    async (numFmt) => {
      const homes = ['casa-marea', 'other-1', 'other-2'];
      const prices = [291000, 60, 415000.55];
      const rows = [['slug', 'price_from'], ...homes.map((slug) => [slug, null])];
      const cells = new Map(
        prices.map((value, at) => [
          `${at + 1},1`,
          { value, type: 'number' as const, style: { numFmt } },
        ]),
      );
      const bytes = await workbook({ listings: rows }, { listings: { cells } });
      expect(await imports.loadWorkbook(bytes)).toMatchObject({ code: 0, stderr: '' });
      const stored = await Promise.all(homes.map((slug) => imports.stored(slug)));
      expect(stored.map((each) => each?.price_from)).toEqual(prices);
    },
  );

  it('names merged cells', async () => {
    const merges = [{ startRow: 1, endRow: 2, startCol: 1, endCol: 1 }];
    const rows = [
      ['slug', 'city'],
      ['casa-marea', 'Palma'],
      ['other-1', null],
    ];
    const wrong = await imports.loadWorkbook(
      await workbook({ listings: rows }, { listings: { merges } }),
    );
    expect(wrong.stderr).toContain(
      'listings!B2: begins merged cells: unmerge them, and fill in each of them',
    );
  });

  it('names the error of a formula, one without a value, and one that Google had not computed', async () => {
    const rows = [
      ['slug', 'city', 'beds', 'title.en', 'title.fr', 'address'],
      ['casa-marea', null, null, null, null, null],
    ];
    const google = (value: string) =>
      formulaCell(`IFERROR(__xludf.DUMMYFUNCTION("GOOGLETRANSLATE(A1)"),"${value}")`, value);
    const cells = new Map([
      ['1,1', errorCell('#N/A')],
      ['1,2', formulaCell('1+1')],
      ['1,3', google('Loading...')],
      ['1,4', google('La maison')],
      ['1,5', formulaCell('A1', '#REF!')],
    ]);
    const { stderr } = await imports.loadWorkbook(
      await workbook({ listings: rows }, { listings: { cells } }),
    );
    expect(stderr).toContain(
      'listings!B2 (slug "casa-marea"): city "#N/A" is the error of a formula: correct the formula, or write its value\n',
    );
    expect(stderr).toContain(
      'listings!C2 (slug "casa-marea"): beds is a formula without a value: open the workbook in a spreadsheet program, and save it\n',
    );
    expect(stderr).toContain(
      'listings!D2 (slug "casa-marea"): title.en "Loading..." is a formula that Google Sheets had not computed: open the sheet, wait for its values, and download it again\n',
    );
    expect(stderr).toContain(
      'listings!F2 (slug "casa-marea"): address "#REF!" is the error of a formula',
    );
    expect(stderr).toContain('\n4 problems. Nothing was changed.\n');
  });
});

/** A row of an .ods with the slug and the city of a listing. */
const odsRow = (...cells: string[]) =>
  `<table:table-row>${cells.map((cell) => `<table:table-cell office:value-type="string"><text:p>${cell}</text:p></table:table-cell>`).join('')}</table:table-row>`;
const odsRows = [odsRow('slug', 'city'), odsRow('casa-marea', 'Deià'), odsRow('other-1', 'Sóller')];
const grouped = odsRows.map((row, at) =>
  at === 2 ? `<table:table-row-group>${row}</table:table-row-group>` : row,
);
const repeated = odsRows.map((row, at) =>
  at === 0 ? `<table:table-header-rows>${row}</table:table-header-rows>` : row,
);
const WORKBOOK_PARTS = { 'xl/workbook.xml': '<workbook/>', 'xl/worksheets/sheet1.xml': '' };
const encrypted = await writeXlsx({
  sheets: [{ name: 'listings', rows: [['slug']] }],
  encryption: { password: 'x', spinCount: 1 },
});

it.each<[string, Uint8Array | string, string]>([
  ['a CSV', 'slug,city\ncasa-marea,Palma\n', 'is neither JSON (Unexpected token'],
  [
    'nothing',
    '',
    'is neither JSON (Unexpected end of JSON input) nor a workbook: save a spreadsheet as .xlsx',
  ],
  ['an encrypted workbook', encrypted, 'is no readable workbook (File is password-protected. '],
  ['a broken .xls', Buffer.from('d0cf11e0a1b11ae1', 'hex'), 'is no readable workbook ('],
  ['a cut workbook', Buffer.from('PK\x03\x04'), 'is no readable workbook ('],
  ['an archive', zip({ 'a.txt': 'x' }), 'is no readable workbook ('],
  [
    'an .ods with a group of rows',
    openDocument(grouped.join('')),
    'has grouped rows, or rows that are repeated on each printed page, which cannot be read from an .ods: save it as .xlsx',
  ],
  [
    'an .ods with a header on each page',
    openDocument(repeated.join('')),
    'has grouped rows, or rows',
  ],
  [
    'a workbook of 600 MiB',
    zip(WORKBOOK_PARTS, 300 * 2 ** 20),
    'would unpack to 600 MiB, at most 512: delete sheets, pictures and empty rows, and save it again',
  ],
  // ZIP64 has the sizes elsewhere, in the words of the library.
  ['a broken workbook with ZIP64', zip(WORKBOOK_PARTS, 2 ** 32 - 1), 'is no readable workbook ('],
])('%s in the name of a workbook is one sentence', async (_title, content, sentence) => {
  const { code, stdout, stderr } = await imports.loadWorkbook(content);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toContain(`the file: ${sentence}`);
  expect(stderr).toMatch(/\n1 problem\. Nothing was changed\.\n$/);
});

it('an .ods is read', async () => {
  const ods = openDocument(odsRows.join(''));
  expect(await imports.load(ods)).toMatchObject({ code: 0, stderr: '' });
  expect(await imports.stored('other-1')).toMatchObject({ city: 'Sóller' });
});
