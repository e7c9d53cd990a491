/** Writes a page of the list of changes. */

import { listJson } from '../http/paging.ts';
import { changeCursor } from './change.ts';
import type { Change, ChangePage } from './changes.ts';
import { cutProperty, type Selection } from './selection.ts';

/** Returns the JSON text of a page, its properties cut to what is chosen. */
export async function changesJson(
  { changes, hasMore, resume }: ChangePage,
  selection: Selection,
): Promise<string> {
  const cursor = await changeCursor(resume);
  const items = changes.map((change) => itemJson(change, selection));
  return listJson(items, hasMore ? cursor : null, { resume_cursor: cursor });
}

function itemJson({ id, slug, changedAt, document }: Change, selection: Selection): string {
  const item = {
    object: 'property_change',
    id,
    slug,
    change: document === null ? 'removed' : 'published',
    changed_at: changedAt === null ? null : new Date(changedAt).toISOString(),
  };
  const property = document === null ? 'null' : cutProperty(document, selection);
  return `${JSON.stringify(item).slice(0, -1)},"property":${property}}`;
}
