/**
 * Tests how an import recognises a file by its content. If the file is not a catalogue, the error
 * message must say what it is and what to do.
 */

import { writeXlsx } from 'hucre';
import { describe, expect, it } from 'vitest';
import { readCatalogueFile } from '../../../tools/import/read/file.ts';
import { openDocument, zip } from '../../support/node/workbook.ts';

type Parts = Record<string, string>;

const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const STRICT = 'http://purl.oclc.org/ooxml/officeDocument/relationships';
const MACRO = 'http://schemas.microsoft.com/office/2006/relationships';

/**
 * Returns the XML for the relationships `rId1`, `rId2` and so on, each with a type and a target.
 */
function relationships(...pairs: [type: string, target: string][]): string {
  const rows = pairs.map(
    ([type, target], at) => `<Relationship Id="rId${at + 1}" Type="${type}" Target="${target}"/>`,
  );
  return `<Relationships>${rows.join('')}</Relationships>`;
}

const cell = (position: string, index: number) => `<c r="${position}" t="s"><v>${index}</v></c>`;
const SHEET = `<worksheet><sheetData><row r="1">${cell('A1', 0)}${cell('B1', 1)}</row><row r="2">${cell('A2', 2)}${cell('B2', 3)}</row></sheetData></worksheet>`;
const tab = (name: string, at: number, attributes = '') =>
  `<sheet name="${name}" sheetId="${at}" r:id="rId${at}" ${attributes}/>`;
const tabs = (...sheets: string[]) =>
  `<workbook xmlns:r="${OFFICE}"><sheets>${sheets.join('')}</sheets></workbook>`;

/** The parts of an .xlsx with one sheet and shared strings. */
const PARTS: Parts = {
  '[Content_Types].xml': '<Types/>',
  '_rels/.rels': relationships([`${OFFICE}/officeDocument`, 'xl/workbook.xml']),
  'xl/workbook.xml': tabs(tab('listings', 1)),
  'xl/_rels/workbook.xml.rels': relationships(
    [`${OFFICE}/worksheet`, 'worksheets/sheet1.xml'],
    [`${OFFICE}/sharedStrings`, 'sharedStrings.xml'],
  ),
  'xl/worksheets/sheet1.xml': SHEET,
  'xl/sharedStrings.xml':
    '<sst><si><t>slug</t></si><si><t>city</t></si><si><t>casa</t></si><si><t>Deià</t></si></sst>',
};

/** Makes an .xlsx in which `parts` replace or supplement the default parts. */
const xlsx = (parts: Parts = {}) => zip({ ...PARTS, ...parts });
const withTab = (name: string, type: string) =>
  xlsx({
    'xl/workbook.xml': tabs(tab('listings', 1), tab(name, 3)),
    'xl/_rels/workbook.xml.rels': relationships(
      [`${OFFICE}/worksheet`, 'worksheets/sheet1.xml'],
      [`${OFFICE}/sharedStrings`, 'sharedStrings.xml'],
      [type, 'other/part1.xml'],
    ),
    'xl/other/part1.xml': '<other/>',
  });

const renamed = (rename: (name: string) => string) =>
  zip(Object.fromEntries(Object.entries(PARTS).map(([name, text]) => [rename(name), text])));

const ROW = (...cells: string[]) =>
  `<table:table-row>${cells.map((text) => `<table:table-cell office:value-type="string"><text:p>${text}</text:p></table:table-cell>`).join('')}</table:table-row>`;
const ROWS = [ROW('slug', 'city'), ROW('casa', 'Deià')].join('');
const SPREADSHEET = 'application/vnd.oasis.opendocument.spreadsheet';
const CONTENT = `<office:document-content><office:body><office:spreadsheet><table:table table:name="listings">${ROWS}</table:table></office:spreadsheet></office:body></office:document-content>`;

const JSON_FILE = JSON.stringify({ properties: [{ slug: 'casa', city: 'Deià' }] });
const utf16be = (text: string) => Buffer.from(text, 'utf16le').swap16();

/** Returns the record of the only listing in a file. */
async function readRecord(bytes: Uint8Array) {
  const file = await readCatalogueFile(bytes, 'whole');
  return file.form === 'workbook'
    ? { record: file.sheets.listings?.[0]?.cells, notes: file.notes }
    : { record: file.properties[0]?.value, notes: [] };
}

const CASA = { record: { slug: 'casa', city: 'Deià' }, notes: [] };

describe('readCatalogueFile', () => {
  it.each<[title: string, bytes: Uint8Array]>([
    ['an .xlsx', xlsx()],
    [
      'an .xlsx with the bytes of an .xls and an .xlsb in a picture',
      xlsx({ 'xl/media/image1.png': 'b\0o\0o\0k\0 xl/workbook.bin' }),
    ],
    [
      'an .xlsx with different capitals in the names of its parts',
      renamed((name) =>
        name.replace('shared', 'Shared').replace('/sheet', '/Sheet').replace('_rels/w', '_Rels/W'),
      ),
    ],
    ['an .xlsx with lower-case names of its parts', renamed((name) => name.toLowerCase())],
    [
      'an .xlsx with backslashes in the names of its entries',
      renamed((name) => name.replaceAll('/', '\\')),
    ],
    [
      'an .xlsx whose targets begin with a slash',
      xlsx({
        'xl/_rels/workbook.xml.rels': relationships(
          [`${OFFICE}/worksheet`, '/xl/worksheets/sheet1.xml'],
          [`${OFFICE}/sharedStrings`, '/xl/sharedStrings.xml'],
        ),
      }),
    ],
    [
      'a workbook in strict Open XML',
      zip(
        Object.fromEntries(
          Object.entries(PARTS).map(([name, text]) => [name, text.replaceAll(OFFICE, STRICT)]),
        ),
      ),
    ],
    [
      'an .xlsm or .xltx',
      xlsx({
        '[Content_Types].xml':
          '<Types><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.template.main+xml"/></Types>',
        'xl/vbaProject.bin': 'x',
      }),
    ],
    [
      'an .xlsx with a sheet that only a program can unhide',
      xlsx({ 'xl/workbook.xml': tabs(tab('listings', 1, 'state="veryHidden"')) }),
    ],
    [
      'an .xlsx with links, pivot tables and drawings that cannot be read',
      xlsx({
        'xl/_rels/workbook.xml.rels':
          PARTS['xl/_rels/workbook.xml.rels']?.replace(
            '</Relationships>',
            `<Relationship Id="rId8" Type="${OFFICE}/externalLink" Target="links/1.xml"/><Relationship Id="rId9" Type="${OFFICE}/pivotCacheDefinition" Target="pivot/1.xml"/></Relationships>`,
          ) ?? '',
        'xl/workbook.xml': `${tabs(tab('listings', 1)).replace('</workbook>', '')}<pivotCaches><pivotCache cacheId="1" r:id="rId9"/></pivotCaches></workbook>`,
        'xl/links/1.xml': '<broken',
        'xl/pivot/1.xml': '<broken',
        'xl/worksheets/_rels/sheet1.xml.rels': relationships([
          `${OFFICE}/drawing`,
          '../drawings/1.xml',
        ]),
        'xl/drawings/1.xml': '<broken',
      }),
    ],
    ['an .ods', openDocument(ROWS)],
    ['an .ods without the entry mimetype', zip({ 'content.xml': CONTENT })],
    [
      'an .ods whose mimetype is not the first entry',
      zip({ 'content.xml': CONTENT, mimetype: SPREADSHEET }),
    ],
    ['an .ods template', zip({ mimetype: `${SPREADSHEET}-template`, 'content.xml': CONTENT })],
    ['JSON', Buffer.from(JSON_FILE)],
    ['JSON after a byte order mark', Buffer.from(`\ufeff${JSON_FILE}`)],
    ['JSON in UTF-16 as PowerShell writes it', Buffer.from(`\ufeff${JSON_FILE}\r\n`, 'utf16le')],
    ['JSON in UTF-16 without a byte order mark', Buffer.from(JSON_FILE, 'utf16le')],
    ['JSON in big-endian UTF-16', utf16be(`\ufeff${JSON_FILE}`)],
    ['JSON in big-endian UTF-16 without a byte order mark', utf16be(JSON_FILE)],
  ])('reads %s', async (_title, bytes) => {
    expect(await readRecord(bytes)).toEqual(CASA);
  });

  it.each<[type: string, kind: string]>([
    [`${OFFICE}/chartsheet`, 'a chart'],
    [`${STRICT}/chartsheet`, 'a chart'],
    [`${OFFICE}/dialogsheet`, 'a dialog'],
    [`${MACRO}/xlMacrosheet`, 'a macro sheet'],
    [`${MACRO}/xlIntlMacrosheet`, 'a macro sheet'],
  ])('skips a tab of the type %s, which the notes mention', async (type, kind) => {
    expect(await readRecord(withTab('Chart1', type))).toEqual({
      ...CASA,
      notes: [`Ignored: the tab "Chart1", which is ${kind}`],
    });
  });
});

describe('readWorkbook', () => {
  it('reads only the first of two sheets that have the same name', async () => {
    const file = xlsx({
      'xl/workbook.xml': tabs(tab('listings', 1), tab('Listings\u200b', 3)),
      'xl/_rels/workbook.xml.rels': relationships(
        [`${OFFICE}/worksheet`, 'worksheets/sheet1.xml'],
        [`${OFFICE}/sharedStrings`, 'sharedStrings.xml'],
        [`${OFFICE}/worksheet`, 'worksheets/sheet3.xml'],
      ),
      'xl/worksheets/sheet3.xml': SHEET.replace('<v>3</v>', '<v>0</v>'),
    });
    expect(await readRecord(file)).toEqual({
      ...CASA,
      notes: ['Ignored: the sheet "Listings\u200b", did you mean listings?'],
    });
  });
});

const XLS = 'an .xls, or a workbook with a password. Save it as .xlsx without a password.';
const OLE = Buffer.from('d0cf11e0a1b11ae1', 'hex');
const LOCK = Buffer.alloc(165, ' ').fill('\x03Eva', 0, 4).fill('\x03\0E\0v\0a\0', 55, 63);
const TYPES = '[Content_Types].xml';
const encrypted = await writeXlsx({
  sheets: [{ name: 'listings', rows: [['slug']] }],
  encryption: { password: 'x', spinCount: 1 },
});
const page = '<!DOCTYPE html><html><table><tr><td>slug</td></tr></table></html>';

describe('error message for a file that is not a catalogue', () => {
  it.each<[title: string, content: string | Uint8Array, message: string, path?: string]>([
    ['nothing', '', 'is empty. Export or save it again.'],
    ['an .xls', Buffer.concat([OLE, Buffer.from('Workbook', 'utf16le')]), XLS],
    ['an encrypted .xlsx', encrypted, XLS],
    ['an .xls of Excel 4', Buffer.from('0904060000001000', 'hex'), 'an .xls. Save it as .xlsx.'],
    [
      'an .xlsb',
      zip({ [TYPES]: '', '_rels/.rels': '', 'xl/workbook.bin': '' }),
      'an .xlsb. Save it as .xlsx.',
    ],
    [
      'a .docx',
      zip({ [TYPES]: '', '_rels/.rels': '', 'word/document.xml': '' }),
      'a Word document. Import a workbook',
    ],
    [
      'a .pptx',
      zip({ [TYPES]: '', '_rels/.rels': '', 'ppt/presentation.xml': '' }),
      'a presentation. Import a workbook',
    ],
    [
      'a .numbers',
      zip({ 'Index/Document.iwa': '', 'Metadata/Properties.plist': '' }),
      'a document of Numbers or another Apple program. In Numbers, choose File > Export To > Excel',
    ],
    [
      'an .odt',
      zip({ mimetype: 'application/vnd.oasis.opendocument.text', 'content.xml': '<office:text/>' }),
      'an OpenDocument of another type, not a spreadsheet',
    ],
    [
      'an .odt without its type',
      zip({ 'content.xml': '<office:text/>' }),
      'an OpenDocument of another type',
    ],
    [
      'an .ods with a password',
      zip({
        mimetype: SPREADSHEET,
        'content.xml': 'x',
        'META-INF/manifest.xml': '<manifest:encryption-data/>',
      }),
      'an OpenDocument with a password. Save it without a password.',
    ],
    [
      'an .ods with a password of LibreOffice 24.8',
      zip({ mimetype: SPREADSHEET, 'encrypted-package': 'x' }),
      'an OpenDocument with a password',
    ],
    [
      'an archive that contains a workbook',
      zip({ 'catalogue.xlsx': 'x', 'a.jpg': '' }),
      'a ZIP archive, not a workbook. It contains catalogue.xlsx and 1 more. Unpack it, and import the workbook or the JSON file.',
    ],
    [
      'an archive with control characters in the name of an entry',
      zip({ 'a\u001b[2J': '' }),
      'It contains a\\u001b[2J. Unpack it',
    ],
    ['an empty archive', zip({}), 'is an empty ZIP archive'],
    ['a .gz', Buffer.from('1f8b0800', 'hex'), 'a compressed archive. Unpack it'],
    [
      "Excel's lock file",
      LOCK,
      'the lock file of an open workbook, and has no cells. Import the workbook instead.',
    ],
    [
      "Excel's lock file by its name",
      LOCK,
      'Import catalogue.xlsx instead.',
      'desk/~$catalogue.xlsx',
    ],
    [
      "LibreOffice's lock file",
      ',eva,desk,28.11.2026 10:00,file:///home/eva/.config/libreoffice/4;',
      'Import catalogue.ods instead.',
      '.~lock.catalogue.ods#',
    ],
    [
      'a .gsheet',
      '{"":"WARNING! DO NOT EDIT THIS FILE!","doc_id":"1x","resource_key":"","email":"eva@example.com"}',
      'a shortcut to a Google sheet, and has no cells. Open the sheet, choose File > Download > Microsoft Excel (.xlsx)',
    ],
    [
      'an older .gsheet',
      '{"url": "https://docs.google.com/open?id=1x"}',
      'a shortcut to a Google sheet',
    ],
    [
      'an .url',
      '[InternetShortcut]\r\nURL=https://example.com/',
      'a shortcut to a web page. Import the file itself.',
    ],
    [
      'an .lnk',
      Buffer.from('4c0000000114020000000000', 'hex'),
      'a shortcut to another file. Import the file itself.',
    ],
    [
      'a placeholder for a file in iCloud',
      'bplist00x',
      'a property list of macOS, such as the placeholder of a file in iCloud. Download the file itself',
    ],
    ['HTML saved as .xls', page, 'a web page (HTML). If it shows your table in a browser'],
    ['HTML after a byte order mark and white space', `\ufeff\r\n <table>`, 'a web page (HTML)'],
    ['HTML in UTF-16', Buffer.from(`\ufeff${page}`, 'utf16le'), 'a web page (HTML)'],
    ['an .mht', 'MIME-Version: 1.0\r\n', 'a web archive (MHTML). Open it in a spreadsheet program'],
    [
      'Excel 2003 XML',
      '<?xml version="1.0"?>\n<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet">',
      'a spreadsheet in XML. Open it in a spreadsheet program and save it as .xlsx.',
    ],
    [
      'an .fods',
      '<?xml version="1.0"?>\n<office:document xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0">',
      'a flat OpenDocument (.fods). Open it in a spreadsheet program',
    ],
    ['other XML', '<?xml version="1.0"?><rss/>', 'is XML. Import a workbook'],
    ['a PDF', '%PDF-1.7', 'is a PDF. Import a workbook'],
    ['RTF', '{\\rtf1', 'a text document (RTF)'],
    ['a picture', Buffer.from('89504e470d0a1a0a', 'hex'), 'is a picture'],
    [
      "JSON after npm's output",
      '\n> feed@2.0.0 export-listings\n> node export-listings.ts\n\n{"properties": []}',
      'JSON after the lines that npm prints. Export it again with `npm run -s export-listings -- --out catalogue.json`.',
    ],
    ['a CSV', 'slug,city\ncasa-marea,Palma\n', 'is neither JSON (Unexpected token'],
    [
      'a CSV with advice',
      'slug,city\ncasa-marea,Palma\n',
      ') nor a workbook. Open a CSV or another table in a spreadsheet program and save it as .xlsx.',
    ],
    ['malformed JSON', '{"properties": [}', "is not valid JSON (Unexpected token '}'"],
    ['a truncated JSON file', '{"properties": [', 'is not valid JSON (Unexpected end'],
    [
      'text in Latin-1',
      Buffer.from('{"city": "Deià"}', 'latin1'),
      'is text that is not in UTF-8. Save a table as .xlsx, and JSON in UTF-8.',
    ],
    [
      'a CSV in Latin-1',
      Buffer.from('slug,city\ncasa,Deià\n', 'latin1'),
      'is text that is not in UTF-8. Save a table as .xlsx',
    ],
    [
      'an unknown format',
      Buffer.from('0001ff', 'hex'),
      'has an unknown format. Import a workbook (.xlsx or .ods) or JSON.',
    ],
    [
      'deeply nested JSON',
      '['.repeat(100_000) + ']'.repeat(100_000),
      'is JSON that is nested too deep',
    ],
    [
      'a truncated archive',
      xlsx().subarray(0, 600),
      'is not a readable workbook (its end is missing). Open it in a spreadsheet program and save it as .xlsx. If it does not open there, download or copy it again.',
    ],
    [
      'a workbook without its shared strings',
      xlsx({
        'xl/_rels/workbook.xml.rels':
          PARTS['xl/_rels/workbook.xml.rels']?.replace('sharedStrings.xml', 'strings.xml') ?? '',
      }),
      'is not a readable workbook (its part xl/strings.xml is missing)',
    ],
    [
      'a workbook without a sheet',
      renamed((name) => name.replace('sheet1', 'sheet2')),
      'is not a readable workbook (Invalid XLSX: missing worksheet file for sheet "listings")',
    ],
    [
      'a broken ZIP64 workbook',
      zip(PARTS, 2 ** 32 - 1),
      'is not a readable workbook (the ZIP64 size of [Content_Types].xml is missing)',
    ],
    [
      'a workbook of 600 MiB',
      zip({ 'xl/workbook.xml': '', 'xl/worksheets/sheet1.xml': '' }, 300 * 2 ** 20),
      'would unpack to 600 MiB. The maximum is 512 MiB. Delete sheets, pictures and empty rows, and save it again.',
    ],
    [
      'only a chart',
      zip({
        ...PARTS,
        'xl/workbook.xml': tabs(tab('Chart1', 1)),
        'xl/_rels/workbook.xml.rels': relationships([
          `${OFFICE}/chartsheet`,
          'chartsheets/sheet1.xml',
        ]),
      }),
      'Chart1',
    ],
  ])('identifies %s', async (_title, content, message, path) => {
    const error: Error = await readCatalogueFile(Buffer.from(content), 'whole', path).then(
      () => expect.fail('was read'),
      (reason) => reason,
    );
    expect([error.name, error.message]).toEqual(['UserError', expect.stringContaining(message)]);
  });

  it('reads a small listings file that contains Google URLs', async () => {
    const properties = [{ slug: 'casa', photos: [{ url: 'https://docs.google.com/1' }] }];
    const file = await readCatalogueFile(Buffer.from(JSON.stringify({ properties })), 'whole');
    expect(file).toHaveProperty('properties.length', 1);
  });

  it("reads JSON that is as long as Excel's lock file and begins with a space", async () => {
    const json = ` ${JSON.stringify({ properties: [{ slug: 'casa' }] })}`.padEnd(165);
    const file = await readCatalogueFile(Buffer.from(json), 'whole');
    expect(file).toHaveProperty('properties.length', 1);
  });
});
