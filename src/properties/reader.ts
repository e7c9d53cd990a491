/** Requests of the feed as data, and how each of them reads D1. */

import { encodeCursor } from '../http/cursor.ts';
import { listJson } from '../http/paging.ts';
import type { Connection } from '../storage/statement.ts';
import { inLanguages } from './locale-map.ts';
import { findLocations, LOCATIONS_SCOPE, type LocationsRequest } from './locations.ts';
import { locationResource, property, propertyCard } from './resource.ts';
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
) & {
  /** The languages that every text is cut to; undefined for all of them. */
  locale: readonly string[] | undefined;
};

/** Reads the answer to a request, as JSON text; undefined when there is no such listing. */
export async function readJson(
  connection: Connection,
  publicSiteUrl: string,
  request: FeedRequest,
): Promise<string | undefined> {
  const { locale } = request;
  switch (request.kind) {
    case 'item': {
      const document = await findDocument(connection, publicSiteUrl, request.key);
      return document && inLanguages(property, document, locale);
    }
    case 'page': {
      const { documents, next } = await findPage(connection, publicSiteUrl, request);
      const schema = request.shows === 'card' ? propertyCard : property;
      const items = locale ? documents.map((each) => inLanguages(schema, each, locale)) : documents;
      return listJson(items, next && (await encodeCursor(propertiesScope(request), next)));
    }
    case 'locations': {
      const { documents, next } = await findLocations(connection, request);
      const items = documents.map((each) => inLanguages(locationResource, each, locale));
      return listJson(items, next && (await encodeCursor(LOCATIONS_SCOPE, next)));
    }
  }
}
