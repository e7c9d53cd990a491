/**
 * Reads a listings file. Its content, not its name, decides whether it is read as JSON or as a
 * workbook.
 */

import { basename } from 'node:path';
import { UserError } from '../../command-line/user-error.ts';
import { type RecordsFile, readListingsFile } from './json.ts';
import { hashText, RowMark } from './marks.ts';
import type { Workbook } from './workbook.ts';

/** A listings file as its author wrote it, before it is compared with the store. */
export type ListingsFile = RecordsFile | Workbook;

const SAVE_AS_XLSX = 'Open it in a spreadsheet program and save it as .xlsx.';
const NOT_A_CATALOGUE = 'Import a workbook (.xlsx or .ods) or JSON instead.';

type Format = readonly [start: RegExp, name: string, hint: string];

/** Binary formats, recognised by their first bytes in hexadecimal. */
const BINARY_FORMATS: readonly Format[] = [
  // Encrypted workbooks are OLE containers, like the workbooks of Excel 97 to 2003.
  [/^d0cf11e0/, 'an .xls, or a workbook with a password', 'Save it as .xlsx without a password.'],
  // Workbooks in BIFF 2 to 4 have no container.
  [/^09(00|02|04)(04|06)00/, 'an .xls', 'Save it as .xlsx.'],
  [
    /^(1f8b|377abcaf|52617221|425a68|fd377a585a)/,
    'a compressed archive',
    'Unpack it, and import the workbook or the JSON file.',
  ],
  [/^4c00000001140200/, 'a shortcut to another file', 'Import the file itself.'],
  [
    /^62706c69737430/,
    'a property list of macOS, such as the placeholder of a file in iCloud',
    'Download the file itself and import it.',
  ],
  [/^25504446/, 'a PDF', NOT_A_CATALOGUE],
  [/^(89504e47|ffd8ff|47494638)/, 'a picture', NOT_A_CATALOGUE],
];

/** Text formats, recognised by their first characters after a byte order mark and white space. */
const TEXT_FORMATS: readonly Format[] = [
  [/^\[InternetShortcut\]/i, 'a shortcut to a web page', 'Import the file itself.'],
  [/^\{\\rtf/, 'a text document (RTF)', NOT_A_CATALOGUE],
  [/^MIME-Version:/i, 'a web archive (MHTML)', SAVE_AS_XLSX],
  [
    /^<(!doctype html|html|head|meta|table)\b/i,
    'a web page (HTML)',
    'If it shows your table in a browser, open it in a spreadsheet program and save it as .xlsx. Otherwise download the workbook again.',
  ],
  [/^<.*urn:schemas-microsoft-com:office:spreadsheet/s, 'a spreadsheet in XML', SAVE_AS_XLSX],
  [/^<.*urn:oasis:names:tc:opendocument/s, 'a flat OpenDocument (.fods)', SAVE_AS_XLSX],
  [/^<(\?xml|!--|[a-z])/i, 'XML', NOT_A_CATALOGUE],
  [
    /^> \S+@\S+ /,
    'JSON after the lines that npm prints',
    'Export it again with `npm run -s export-listings -- --out catalogue.json`.',
  ],
];

/** Number of bytes that are inspected. They include the namespaces of an XML root element. */
const START_BYTES = 4096;

/**
 * Reads a workbook, or JSON in UTF-8 or UTF-16. `path` is used only to recognise a lock file.
 * Throws a `UserError` that names the actual format of any other file.
 */
export async function readCatalogueFile(
  bytes: Uint8Array,
  form: RecordsFile['form'],
  path = '',
): Promise<ListingsFile> {
  if (bytes.length === 0) throw new UserError('The file is empty. Export or save it again.');
  const start = Buffer.from(bytes.subarray(0, START_BYTES));
  const hex = start.toString('hex', 0, 16);
  // A ZIP archive begins with a local header, or with its directory if it is empty.
  if (/^504b(0304|0506)/.test(hex)) {
    // The library for workbooks is slow to load, so it is loaded only for a workbook.
    const { readWorkbook } = await import('./workbook.ts');
    return await readWorkbook(bytes);
  }
  rejectLockFile(bytes, basename(path));
  rejectFormat(BINARY_FORMATS, hex);
  const json = toUtf8(bytes, hex);
  rejectFormat(TEXT_FORMATS, `${Buffer.from(json.subarray(0, START_BYTES))}`.trimStart());
  rejectGoogleShortcut(json);
  return readListingsFile(json, form);
}

function rejectFormat(formats: readonly Format[], start: string): void {
  for (const [pattern, format, hint] of formats) {
    if (pattern.test(start)) throw new UserError(`The file is ${format}. ${hint}`);
  }
}

/**
 * Size of Excel's lock files. They contain the user's name, preceded by its length and repeated in
 * UTF-16.
 */
const LOCK_FILE_BYTES = 165;
const MAX_NAME_BYTES = 54;

/** Rejects the lock file that a spreadsheet program keeps next to an open workbook. */
function rejectLockFile(bytes: Uint8Array, name: string): void {
  const [nameBytes = 0] = bytes;
  const isOfExcel =
    bytes.length === LOCK_FILE_BYTES && nameBytes <= MAX_NAME_BYTES && bytes.includes(0);
  const isOfLibreOffice = /^,[^\n]*,file:\/\/[^\n]*;$/.test(
    Buffer.from(bytes.subarray(0, 1024)).toString('latin1'),
  );
  const workbook = /^(?:~\$|\.~lock\.)(.+?)#?$/.exec(name)?.[1];
  if (!isOfExcel && !isOfLibreOffice && workbook === undefined) return;
  throw new UserError(
    `The file is the lock file of an open workbook, and has no cells. Import ${workbook ?? 'the workbook'} instead.`,
  );
}

/** Matches the first bytes of JSON in UTF-16: a byte order mark, white space or a bracket. */
const UTF_16LE = /^(fffe|(7b|5b|20|09|0d|0a)00)/;
const UTF_16BE = /^(feff|00(7b|5b|20|09|0d|0a))/;

/** Converts UTF-16, in which PowerShell and some editors save text, to UTF-8. */
function toUtf8(bytes: Uint8Array, hex: string): Uint8Array {
  const isLittleEndian = UTF_16LE.test(hex);
  if (!isLittleEndian && !UTF_16BE.test(hex)) return bytes;
  return Buffer.from(new TextDecoder(isLittleEndian ? 'utf-16le' : 'utf-16be').decode(bytes));
}

/** Rejects a .gsheet file, which contains only the address of a Google sheet. */
function rejectGoogleShortcut(json: Uint8Array): void {
  if (json.length > START_BYTES || !isGoogleShortcut(`${Buffer.from(json)}`)) return;
  throw new UserError(
    'The file is a shortcut to a Google sheet, and has no cells. Open the sheet, choose File > Download > Microsoft Excel (.xlsx), and import that file.',
  );
}

function isGoogleShortcut(text: string): boolean {
  try {
    const { doc_id: id, url } = JSON.parse(text.trim());
    return id !== undefined || /^https:\/\/(docs|drive)\.google\.com\//.test(`${url}`);
  } catch {
    // The JSON reader reports the error.
    return false;
  }
}

/**
 * Returns the hash of the export's id; undefined if the file does not come from an export. In a
 * workbook, every row contains the hash.
 */
export function findExportKey(file: ListingsFile): string | undefined {
  if (file.exportId !== undefined) return hashText(file.exportId);
  const rows = file.form === 'workbook' ? Object.values(file.sheets).flat() : [];
  return rows
    .map(({ markCell }) => RowMark.parse(markCell)?.get('export'))
    .find((exportKey) => exportKey !== undefined);
}
