/** The hints for requests that match no route. */

import { describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { findPathHint } from '../../src/http/unmatched-requests.ts';
import { expectError, send } from '../support/http.ts';

const INGEST = '/api/public/events/ingest';
const LIST = '/api/v1/web/properties';

const routes = createApp().routes.filter(({ method }) => method !== 'ALL');

describe('findPathHint', () => {
  it.each<[method: string, path: string, hint: string | undefined]>([
    ['GET', '/api/v1/properties', `Use ${LIST}.`],
    ['GET', '/api/v1/properties/casa-azul', `Use ${LIST}/{slugOrId}.`],
    ['GET', '/api/web/property-cards', 'Use /api/v1/web/property-cards.'],
    ['GET', '/v1/web/locations', 'Use /api/v1/web/locations.'],
    ['GET', '/health', 'Use /api/health.'],
    ['GET', '/api/v1/health/detailed', 'Use /api/health/detailed.'],
    ['GET', '/API/V1/Events', 'Use /api/v1/events.'],
    ['GET', '/api/public/events/7', 'Use /api/v1/events/{id}.'],
    ['POST', '/api/v1/public/events/ingest', `Use ${INGEST}.`],
    ['GET', '/api/v1/public/events/ingest', `Use ${INGEST}.`],
    ['POST', '/api/v1/events/ingest/batch', `Use ${INGEST}/batch.`],
    ['POST', '/api/v1/events/batch', `Use ${INGEST}/batch.`],
    ['POST', '/api/v1/events', `Use ${INGEST}.`],
    ['POST', '/api/public/events', `Use ${INGEST}.`],
    ['GET', '/api/v1/events/', 'The path ends with a slash. Use /api/v1/events.'],
    ['GET', '//api/v1/events', 'The path has a double slash. Use /api/v1/events.'],
    ['GET', `${LIST}//`, `The path has a double slash. Use ${LIST}.`],
    ['GET', '/api//none', 'The path has a double slash.'],
    ['GET', '/api/none/', 'The path ends with a slash.'],
    ['GET', '/', undefined],
    ['GET', '/api', undefined],
    ['GET', '/api/v1', undefined],
    ['GET', '/api/v1/bookings', undefined],
    ['GET', '/api/v1/event', undefined],
    ['GET', `${LIST}/a/b`, undefined],
    ['GET', '/constructor', undefined],
    // A path that exists gets no hint if only the method is wrong.
    ['DELETE', '/api/v1/events', undefined],
    ['DELETE', '/api/v1/events/7', undefined],
    ['GET', INGEST, undefined],
    ['POST', LIST, undefined],
  ])('maps %s %s to the hint %s', (method, path, hint) => {
    expect(findPathHint({ method, path }, routes)).toBe(hint);
  });
});

describe('a request that almost matches a route', () => {
  it('gets a 404 with a hint', async () => {
    const error = await expectError(await send('/api/v1/properties'), 404, 'resource_missing');
    expect(error.message).toBe(`There is nothing at this path. Use ${LIST}.`);
  });

  it('gets a 405 with a hint if the path exists for other methods', async () => {
    const response = await send('/api/v1/events/ingest', { method: 'POST', body: '{}' });
    const error = await expectError(response, 405, 'method_not_allowed');
    expect(error.message).toBe(`POST is not allowed at this path. Use ${INGEST}.`);
    expect(response.headers.get('Allow')).toBe('GET, HEAD');
  });
});
