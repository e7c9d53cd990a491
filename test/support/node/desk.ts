/**
 * Runs the steps of imports and exports as plain functions, without a database, a spreadsheet file
 * or command-line arguments. Has the same methods as `openMemoryImports`, so that a test can run
 * against both.
 */

import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { format } from 'node:util';
import { vi } from 'vitest';
import { describeError } from '../../../tools/command-line/user-error.ts';
import { findUser } from '../../../tools/database/operations.ts';
import type { Catalogue, StoredListing } from '../../../tools/import/catalogue/store.ts';
import { readSource } from '../../../tools/import/catalogue/version.ts';
import { prepareExport } from '../../../tools/import/export.ts';
import { type Effect, plan } from '../../../tools/import/plan/plan.ts';
import { toCell } from '../../../tools/import/read/cells.ts';
import { EXPORT_LABEL, READ_ME, SHEET_NAMES, SHEETS } from '../../../tools/import/read/columns.ts';
import {
  findExportKey,
  type ListingsFile,
  readCatalogueFile,
} from '../../../tools/import/read/file.ts';
import { readListingsFile } from '../../../tools/import/read/json.ts';
import { readOpenedWorkbook } from '../../../tools/import/read/workbook.ts';
import { report } from '../../../tools/import/report/report.ts';
import {
  toWrittenListing,
  writeListingsFile,
  writeUndoFile,
} from '../../../tools/import/write/listings-file.ts';
import { listSheetRecords } from '../../../tools/import/write/sheet-records.ts';
import { source } from '../listings.ts';
import type { Finished } from './project-copy.ts';
import type { TestSheet } from './workbook.ts';

const NO_RECORDS = { locations: [], amenities: [], operations: new Map(), importedRows: [] };

export function openDesk() {
  let catalogue: Catalogue = {
    ...{ lastImport: null, generation: randomUUID(), lineage: randomUUID(), newestChange: 0 },
    ...NO_RECORDS,
    listings: new Map(),
  };

  async function importFile(file: ListingsFile, command: string, options: string[]) {
    const has = (option: string) => options.includes(option);
    const isDryRun = has('--dry-run');
    const prunes = has('--prune');
    const author = { who: findUser(), exportKey: findExportKey(file) };
    const importedRows = catalogue.importedRows.filter(
      ({ export_id }) => export_id === author.exportKey,
    );
    const planOptions = {
      publicSiteUrl: 'https://www.example.com',
      prunes,
      many: has('--many'),
      overwrite: has('--overwrite'),
    };
    const planned = plan(file, { ...catalogue, importedRows }, planOptions, author);
    if (planned.kind === 'accepted' && !isDryRun) {
      const id = randomUUID();
      const isNew = planned.effect.listings.length + planned.effect.recordChanges.length > 0;
      const undo = options.at(options.indexOf('--undo') + 1);
      if (isNew && has('--undo') && undo !== undefined) {
        writeFileSync(undo, [...writeUndoFile(planned.effect, id)].join(''));
      }
      const operation = {
        ...{ id, at: Date.now(), who: author.who, commit: null, command },
        file: command === 'import-listings' ? 'listings.json' : null,
        counts: JSON.stringify({ locations: planned.effect.recordChanges.length }),
        export_id: author.exportKey ?? null,
      };
      if (isNew) catalogue = applyEffect(catalogue, planned.effect, operation);
    }
    const outcome =
      planned.kind === 'accepted' ? { ...planned, feedChanges: [], resumeCursor: '' } : planned;
    const printed = await printedBy(() =>
      report(outcome, { isDryRun, prunes, listsAll: has('--all'), hook: undefined }),
    );
    return { code: planned.kind === 'accepted' ? 0 : 1, ...printed };
  }

  return {
    /** Imports a listings file, given as sheets, JSON or bytes. */
    async load(content: unknown, ...options: string[]): Promise<Finished> {
      try {
        return await importFile(await readContent(content, options), 'import-listings', options);
      } catch (error) {
        return { code: 1, stdout: '', stderr: `${describeError(error)}\nNothing was changed.\n` };
      }
    },
    setStatus(status: string, ...slugs: string[]): Promise<Finished> {
      const properties = [...new Set(slugs)].map((slug) => ({
        location: { kind: 'listing', position: slug } as const,
        value: { slug, status },
        mustExist: true,
      }));
      const others = { locations: [], amenities: [], removed: [], problems: [] };
      return importFile({ form: 'patch', properties, ...others }, 'set-status', ['--all']);
    },
    run: (path: string, ...options: string[]) =>
      importFile(readListingsFile(readFileSync(path)), 'import-listings', options),
    async stored(slug: string) {
      const stored = [...catalogue.listings.values()].find((listing) => listing.slug === slug);
      return stored && source.parse(stored.listing);
    },
    /** Returns the stored catalogue without hidden listings. */
    catalogue: () => {
      const { listings, locations, amenities } = catalogue;
      const shown = [...listings.values()].filter(({ status }) => status !== 'hidden');
      const sources = shown.map(({ listing }) => JSON.stringify(listing)).toSorted();
      return [sources, locations, amenities];
    },
    listings: () => [...catalogue.listings.values()].map(({ listing }) => listing),
    async exported(): Promise<string> {
      const { exportId, listings } = prepareExport(catalogue);
      const file = { ...catalogue, export_id: exportId };
      return [...writeListingsFile(file, listings.map(toWrittenListing))].join('');
    },
    /** Returns the cells of the workbook that an export would write. */
    async exportedWorkbook(): Promise<TestSheet[]> {
      const { exportId, listings } = prepareExport(catalogue);
      const records = listSheetRecords(catalogue, listings, exportId);
      const sheets = SHEET_NAMES.map((name) => {
        const { columns } = SHEETS[name];
        const rows = records[name].map((record) => columns.map((column) => toCell(column, record)));
        return { name, rows: [columns.map((column) => column.name), ...rows] };
      });
      return [...sheets, { name: READ_ME, rows: [[EXPORT_LABEL, exportId]] }];
    },
    /** Returns a function that restores the current catalogue. */
    keep() {
      const state = catalogue;
      return () => {
        catalogue = state;
      };
    },
    clear() {
      catalogue = { ...catalogue, ...NO_RECORDS, listings: new Map(), newestChange: 0 };
    },
  };
}

async function readContent(content: unknown, options: string[]): Promise<ListingsFile> {
  const form = options.includes('--patch') ? 'patch' : 'whole';
  if (content instanceof Uint8Array) return await readCatalogueFile(content, form);
  if (Array.isArray(content)) {
    return readOpenedWorkbook({ sheets: structuredClone(content), otherTabs: [] });
  }
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return await readCatalogueFile(Buffer.from(text), form);
}

/** Applies an import's changes like the SQL in `write/apply.ts`. */
function applyEffect(
  catalogue: Catalogue,
  { listings: changes, recordChanges, importedRows }: Effect,
  operation: typeof catalogue.operations extends ReadonlyMap<string, infer T> ? T : never,
): Catalogue {
  const listings = new Map(catalogue.listings);
  let { newestChange } = catalogue;
  for (const { columns, listing, latest, isChanged, old } of changes) {
    if (latest.changesFeed) newestChange += 1;
    const { id, slug, status, rendering, document } = columns;
    listings.set(id, {
      ...{ id, slug, status, rendering, document },
      change_seq: latest.changesFeed ? newestChange : latest.change_seq,
      changed_at: latest.changesFeed ? operation.at : latest.changed_at,
      removed_slug: latest.removed_slug,
      former_slugs: JSON.stringify(latest.former_slugs),
      operation: isChanged ? operation.id : (old?.operation ?? null),
      listing: readSource(JSON.stringify(listing)),
    });
  }
  const replacedRows = new Set(importedRows.map(nameImportedRow));
  return {
    ...catalogue,
    newestChange,
    listings: releaseSlugs(listings),
    locations: applyRecords(catalogue.locations, 'location', recordChanges, ({ id }) => id),
    amenities: applyRecords(catalogue.amenities, 'amenity', recordChanges, ({ slug }) => slug),
    operations: new Map([[operation.id, operation], ...catalogue.operations]),
    importedRows: [
      ...catalogue.importedRows.filter((row) => !replacedRows.has(nameImportedRow(row))),
      ...importedRows.map((row) => ({ ...row, operation: operation.id })),
    ],
  };
}

function nameImportedRow({ export_id, who, record }: Effect['importedRows'][number]): string {
  return `${export_id} ${who} ${record}`;
}

/** Removes every slug that a listing currently has from the previous slugs of other listings. */
function releaseSlugs(listings: ReadonlyMap<string, StoredListing>): Map<string, StoredListing> {
  const slugs = new Set([...listings.values()].map(({ slug }) => slug));
  const entries = [...listings].map(([id, listing]) => {
    const previousSlugs: string[] = JSON.parse(listing.former_slugs);
    const former_slugs = JSON.stringify(previousSlugs.filter((slug) => !slugs.has(slug)));
    return [id, { ...listing, former_slugs }] as const;
  });
  return new Map(entries);
}

function applyRecords<T extends { slug: string | null }>(
  records: readonly T[],
  kind: 'location' | 'amenity',
  changes: Effect['recordChanges'],
  getKey: (record: T) => string,
): T[] {
  const byKey = new Map(records.map((record) => [getKey(record), record]));
  for (const change of changes.filter((candidate) => candidate.kind === kind)) {
    if (change.now === undefined) byKey.delete(change.key);
    else byKey.set(change.key, JSON.parse(JSON.stringify(change.now)));
  }
  const sortKey = (record: T) => `${record.slug} ${getKey(record)}`;
  return [...byKey.values()].toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
}

/** Runs a function and returns what it prints. */
async function printedBy(work: () => Promise<void>) {
  const printed = { stdout: '', stderr: '' };
  const collect = (name: keyof typeof printed, method: 'log' | 'error') =>
    vi.spyOn(console, method).mockImplementation((...args: unknown[]) => {
      printed[name] += `${format(...args)}\n`;
    });
  const spies = [collect('stdout', 'log'), collect('stderr', 'error')];
  try {
    await work();
    return printed;
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}
