/** Requests of the feed as data: how they are made of what a client sent, and how they read D1. */

import { decodeCursor, encodeCursor } from '../http/cursor.ts';
import { listJson } from '../http/paging.ts';
import { isUuid } from '../http/uuid.ts';
import {
  findLocations,
  LOCATIONS_SCOPE,
  type LocationsRequest,
  locationPosition,
} from './locations.ts';
import type { FeedFilters, Selection } from './parameters.ts';
import { cutLocation, cutProperty } from './selection.ts';
import {
  findDocument,
  findPage,
  type ListingKey,
  type PageRequest,
  position,
  propertiesScope,
} from './store.ts';
import { isSlug } from './text.ts';

/** A request. Requests for the same have the same JSON text. */
export type FeedRequest = (
  | ({ kind: 'page' } & PageRequest)
  | { kind: 'item'; key: ListingKey }
  | ({ kind: 'locations' } & LocationsRequest)
) & {
  selection: Selection;
};

/** Returns the request for a page. Throws `invalid_cursor` for a cursor that was not made under the filters. */
export async function pageRequestOf(
  filters: FeedFilters,
  selection: Selection,
  limit: number,
  cursor: string | undefined,
): Promise<FeedRequest> {
  const after = await decodeCursor(cursor, propertiesScope(filters), position);
  return { kind: 'page', filters, limit, after, selection };
}

/** Returns the request for one listing; undefined for a text that is neither a slug nor an id. */
export function itemRequestOf(slugOrId: string, selection: Selection): FeedRequest | undefined {
  if (isUuid(slugOrId)) return { kind: 'item', key: { id: slugOrId.toLowerCase() }, selection };
  return isSlug(slugOrId) ? { kind: 'item', key: { slug: slugOrId }, selection } : undefined;
}

/** Returns the request for a page of locations. Throws `invalid_cursor` for a cursor of another list. */
export async function locationsRequestOf(
  selection: Selection,
  limit: number,
  cursor: string | undefined,
): Promise<FeedRequest> {
  const after = await decodeCursor(cursor, LOCATIONS_SCOPE, locationPosition);
  return { kind: 'locations', limit, after, selection };
}

/** Reads the answer to a request from D1, as JSON text; undefined when there is no such listing. */
export async function load(
  database: D1Database,
  publicSiteUrl: string,
  request: FeedRequest,
): Promise<string | undefined> {
  const cut = (document: string) => cutProperty(document, request.selection);
  switch (request.kind) {
    case 'item': {
      const document = await findDocument(database, publicSiteUrl, request.key);
      return document && cut(document);
    }
    case 'page': {
      const { documents, next } = await findPage(database, publicSiteUrl, request);
      return listJson(
        documents.map(cut),
        next && (await encodeCursor(propertiesScope(request.filters), next)),
      );
    }
    case 'locations': {
      const { documents, next } = await findLocations(database, request);
      const named = documents.map((document) => cutLocation(document, request.selection));
      return listJson(named, next && (await encodeCursor(LOCATIONS_SCOPE, next)));
    }
  }
}
