/**
 * Keeps an up-to-date copy of the public catalogue in `copy.json`. Replaces the file only after
 * reading all changes, so that the file always contains a complete catalogue.
 */

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { call } from './call.ts';

type Listing = { id: string; slug: string; name: string };
type Change = { id: string; slug: string; change: string; property: Listing | null };
type Page = { data: Change[]; has_more: boolean; resume_cursor: string };
type Copy = { cursor: string; listings: Record<string, Listing> };

const FILE = 'copy.json';
const emptyCopy = (): Copy => ({ cursor: '', listings: {} });

/** Replaces the copy and its cursor in one step. */
function store(copy: Copy): void {
  writeFileSync(`${FILE}.new`, JSON.stringify(copy));
  renameSync(`${FILE}.new`, FILE);
}

let copy: Copy = existsSync(FILE) ? JSON.parse(readFileSync(FILE, 'utf8')) : emptyCopy();
for (;;) {
  const after = copy.cursor && `&wait=25&after=${copy.cursor}`;
  const response = await call(`/api/v1/web/property-changes?limit=100${after}`);
  if (!response.ok) {
    const text = await response.text();
    if (!text.includes('"invalid_cursor"') || copy.cursor === '') throw new Error(text);
    console.log('The database was restored. Reading the complete catalogue again.');
    copy = emptyCopy();
    continue;
  }
  const { data, has_more, resume_cursor } = (await response.json()) as Page;
  for (const { id, slug, change, property } of data) {
    if (property) copy.listings[id] = property;
    else delete copy.listings[id];
    console.log(change, slug);
  }
  copy.cursor = resume_cursor;
  if (has_more) continue;
  store(copy);
  if (data.length > 0) console.log(`${Object.keys(copy.listings).length} listings in ${FILE}`);
}
