/** Requests of the feed as data, and how each of them reads D1. */

import { encodeCursor } from '../http/cursor.ts';
import { listJson } from '../http/paging.ts';
import { findLocations, LOCATIONS_SCOPE, type LocationsRequest } from './locations.ts';
import type { Selection } from './parameters.ts';
import { cutLocation, cutProperty } from './selection.ts';
import {
  findDocument,
  findPage,
  type ListingKey,
  type PageRequest,
  propertiesScope,
} from './store.ts';

/** A request. Equal requests have equal JSON texts. */
export type FeedRequest = (
  | ({ kind: 'page' } & PageRequest)
  | { kind: 'item'; key: ListingKey }
  | ({ kind: 'locations' } & LocationsRequest)
) & { selection: Selection };

/** Reads the answer to a request, as JSON text; undefined when there is no such listing. */
export async function readJson(
  database: D1Database,
  publicSiteUrl: string,
  request: FeedRequest,
): Promise<string | undefined> {
  const { selection } = request;
  switch (request.kind) {
    case 'item': {
      const document = await findDocument(database, publicSiteUrl, request.key);
      return document && cutProperty(document, selection);
    }
    case 'page': {
      const { documents, next } = await findPage(database, publicSiteUrl, request);
      const items = documents.map((document) => cutProperty(document, selection));
      return listJson(items, next && (await encodeCursor(propertiesScope(request.filters), next)));
    }
    case 'locations': {
      const { documents, next } = await findLocations(database, request);
      const items = documents.map((document) => cutLocation(document, selection));
      return listJson(items, next && (await encodeCursor(LOCATIONS_SCOPE, next)));
    }
  }
}
