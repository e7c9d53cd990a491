/**
 * Selects the parts of a workbook that contain its cells. The library reads only these parts, so that
 * a chart, a picture or a pivot table never makes a workbook unreadable.
 */

import { readXml } from 'hucre/xml';
import { printable } from '../../command-line/printable.ts';
import { UserError } from '../../command-line/user-error.ts';
import { type Entry, unpack, withDirectory } from './archive.ts';

export type WorkbookParts = {
  form: 'xlsx' | 'ods';
  /** The workbook, reduced to the selected parts. */
  bytes: Buffer;
  /** Tabs without cells, e.g. `Chart1` of the kind `a chart`. */
  otherTabs: { name: string; kind: string }[];
};

/**
 * Maximum unpacked size of a part that this module reads. Such parts are usually a few kilobytes in size.
 */
const MAX_PART_BYTES = 2 ** 29;

/** Kinds of relationships that lead to cells, their strings and their formats. */
const NEEDED_KINDS = ['worksheet', 'sharedstrings', 'styles'];

/** Descriptions of tabs without cells, by the kind of their relationship. */
const OTHER_TABS: Readonly<Record<string, string>> = {
  chartsheet: 'a chart',
  dialogsheet: 'a dialog',
  xlmacrosheet: 'a macro sheet',
  xlintlmacrosheet: 'a macro sheet',
};

/** Archives that are not workbooks, recognised by the lower-case name of an entry. */
const OTHER_ARCHIVES: readonly [entry: RegExp, format: string, hint: string][] = [
  [/^xl\/workbook\.bin$/, 'an .xlsb', 'Save it as .xlsx.'],
  [/^word\/document\.xml$/, 'a Word document', 'Import a workbook (.xlsx or .ods) instead.'],
  [/^ppt\/presentation\.xml$/, 'a presentation', 'Import a workbook (.xlsx or .ods) instead.'],
  [
    /(^|\/)index(\.zip|\/.*\.iwa)$/,
    'a document of Numbers or another Apple program',
    'In Numbers, choose File > Export To > Excel, and import the exported file.',
  ],
];

/**
 * Selects the parts of a workbook. Throws a `UserError` if the archive is not a workbook, and an
 * `Error` if it is damaged.
 */
export function selectParts(file: Buffer, entries: readonly Entry[]): WorkbookParts {
  const parts = new Parts(file, entries);
  const names = entries.map(({ name }) => toKey(name));
  for (const [entry, format, hint] of OTHER_ARCHIVES) {
    if (names.some((name) => entry.test(name)))
      throw new UserError(`The file is ${format}. ${hint}`);
  }
  if (names.includes('_rels/.rels')) return selectSpreadsheetParts(parts);
  if (names.some((name) => /^(content\.xml|mimetype|encrypted-package)$/.test(name))) {
    return selectOpenDocumentParts(parts);
  }
  const [first, ...others] = entries.map(({ name }) => name).filter((name) => !name.endsWith('/'));
  if (first === undefined) throw new UserError('The file is an empty ZIP archive.');
  const more = others.length > 0 ? ` and ${others.length} more` : '';
  throw new UserError(
    `The file is a ZIP archive, not a workbook. It contains ${printable(first)}${more}. Unpack it, and import the workbook or the JSON file.`,
  );
}

/**
 * Selects the parts of an .xlsx. An .xlsm, .xltx or .xltm has the same parts (ECMA-376, part 2).
 */
function selectSpreadsheetParts(parts: Parts): WorkbookParts {
  parts.select('[Content_Types].xml', '_rels/.rels');
  const root = readRelationships(parts.read('_rels/.rels'));
  const main = root.find(({ kind }) => kind === 'officedocument');
  if (main === undefined) throw new Error('it names no workbook');
  const path = main.target.replace(/^\//, '');
  const [folder, name] = [path.split('/').slice(0, -1).join('/'), path.split('/').at(-1)];
  const relationshipsPath = `${folder && `${folder}/`}_rels/${name}.rels`;
  parts.select(path, relationshipsPath);
  const relationships = readRelationships(parts.read(relationshipsPath)).map((relationship) => ({
    ...relationship,
    path: resolvePath(folder, relationship.target),
  }));
  for (const { kind, path } of relationships) {
    if (NEEDED_KINDS.includes(kind)) parts.select(path);
  }
  rejectLostTexts(parts, relationships);
  const kinds = new Map(relationships.map(({ id, kind }) => [id, kind]));
  const otherTabs = readRows(parts.read(path), 'sheet').flatMap((row) => {
    const kind = OTHER_TABS[kinds.get(getAttribute(row, 'id')) ?? ''];
    return kind === undefined ? [] : { name: getAttribute(row, 'name'), kind };
  });
  return { form: 'xlsx', bytes: parts.pack(), otherTabs };
}

/**
 * Throws if the shared strings are missing but a sheet uses them, because the library would read
 * such cells as empty.
 */
function rejectLostTexts(parts: Parts, relationships: readonly { kind: string; path: string }[]) {
  const lost = relationships.find(
    ({ kind, path }) => kind === 'sharedstrings' && parts.read(path) === undefined,
  );
  if (lost === undefined) return;
  const sheets = relationships.filter(({ kind }) => kind === 'worksheet');
  if (sheets.some(({ path }) => /\st=["']s["']/.test(`${parts.read(path)}`))) {
    throw new Error(`its part ${lost.path} is missing`);
  }
}

const SPREADSHEET = 'application/vnd.oasis.opendocument.spreadsheet';

/**
 * Selects the parts of an .ods. Some programs omit the entry `mimetype`, or write it after other
 * entries.
 */
function selectOpenDocumentParts(parts: Parts): WorkbookParts {
  const manifest = `${parts.read('META-INF/manifest.xml') ?? ''}`;
  if (parts.has('encrypted-package') || manifest.includes('encryption-data')) {
    throw new UserError('The file is an OpenDocument with a password. Save it without a password.');
  }
  const type = parts.read('mimetype')?.toString().trim();
  const isSpreadsheet =
    type === undefined
      ? `${parts.read('content.xml')}`.includes('<office:spreadsheet')
      : type.startsWith(SPREADSHEET);
  if (!isSpreadsheet) {
    throw new UserError(
      'The file is an OpenDocument of another type, not a spreadsheet. Import a workbook (.xlsx or .ods) instead.',
    );
  }
  parts.select('content.xml');
  return { form: 'ods', bytes: parts.pack({ mimetype: SPREADSHEET }), otherTabs: [] };
}

/**
 * The entries of a package, by their part names. Part names are not case-sensitive, and some programs
 * write backslashes.
 *
 *     entry                     part
 *     xl/SharedStrings.xml      xl/sharedStrings.xml
 *     xl\worksheets\sheet1.xml  xl/worksheets/sheet1.xml
 */
class Parts {
  readonly #file: Buffer;
  readonly #entries: ReadonlyMap<string, Entry>;
  readonly #selected = new Map<string, Entry>();

  constructor(file: Buffer, entries: readonly Entry[]) {
    this.#file = file;
    this.#entries = new Map(entries.map((entry) => [toKey(entry.name), entry]));
  }

  has(name: string): boolean {
    return this.#entries.has(toKey(name));
  }

  read(name: string): Buffer | undefined {
    const entry = this.#entries.get(toKey(name));
    return entry && unpack(this.#file, entry, MAX_PART_BYTES);
  }

  /** Adds parts to the result of `pack`, under the names that the library looks for. */
  select(...names: string[]): void {
    for (const name of names) {
      const entry = this.#entries.get(toKey(name));
      if (entry !== undefined) this.#selected.set(name, entry);
    }
  }

  /** Returns a workbook that contains only the selected parts. */
  pack(added?: Record<string, string>): Buffer {
    return withDirectory(this.#file, this.#selected, added);
  }
}

function toKey(name: string): string {
  return name.replaceAll('\\', '/').toLowerCase();
}

type Relationship = { id: string; kind: string; target: string };

/**
 * Reads the relationships of a part. `kind` is the last word of the type in lower case, e.g.
 * `worksheet`.
 */
function readRelationships(xml: Buffer | undefined): Relationship[] {
  return readRows(xml, 'Relationship').map((row) => ({
    id: getAttribute(row, 'Id'),
    kind: getAttribute(row, 'Type').split('/').at(-1)?.toLowerCase() ?? '',
    target: getAttribute(row, 'Target'),
  }));
}

type XmlRow = Record<string, unknown>;

function readRows(xml: Buffer | undefined, rowTag: string): XmlRow[] {
  return xml === undefined ? [] : readXml(xml, { rowTag, stripNamespaces: true }).data;
}

/** Returns an attribute by its name without the namespace prefix, e.g. `id` for `r:id`. */
function getAttribute(row: XmlRow, name: string): string {
  const [, value] = Object.entries(row).find(([key]) => key.split(/[@:]/).at(-1) === name) ?? [];
  return value == null ? '' : String(value);
}

/** Resolves a relationship's target as the library does, e.g. `../tables/table1.xml`. */
function resolvePath(folder: string, target: string): string {
  if (target.startsWith('/')) return target.slice(1);
  const path: string[] = folder === '' ? [] : folder.split('/');
  for (const part of target.split('/')) {
    if (part === '..') path.pop();
    else if (part !== '.' && part !== '') path.push(part);
  }
  return path.join('/');
}
