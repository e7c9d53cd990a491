/**
 * Responds to requests that match no route: 404 for an unknown path, and 405 for a known path with
 * another method. For a near miss, a hint names the right path:
 *
 *     POST /api/v1/events/ingest           Use /api/public/events/ingest.
 *     POST /api/v1/events                  Use /api/public/events/ingest.
 *     GET  /api/v1/properties/casa-azul    Use /api/v1/web/properties/{slugOrId}.
 *     GET  /api/v1/events/                 The path ends with a slash. Use /api/v1/events.
 *     GET  /api/v1/booking                 no hint
 */

import type { Hono } from 'hono';
import type { AppEnv } from '../app-env.ts';
import { ApiError, resourceMissing } from './errors.ts';
import { addHint } from './hints.ts';
import { renderError } from './render-error.ts';

type Route = { method: string; path: string };

/**
 * Rejects every request that matches no route. Must be called last. Hints contain only the paths of
 * `publicRoutes`, never text from the client.
 */
export function rejectUnmatched(app: Hono<AppEnv>, publicRoutes: readonly Route[]): void {
  app.notFound((c) => {
    const hint = findPathHint(c.req, publicRoutes);
    return renderError(resourceMissing(addHint('There is nothing at this path.', hint)), c);
  });
  // Middleware has the method ALL. A route has an entry for each of its handlers.
  const routes = app.routes.filter(({ method }) => method !== 'ALL');
  for (const [path, entries] of Map.groupBy(routes, (route) => route.path)) {
    const methods = entries.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : method));
    const Allow = [...new Set(methods)].join(', ');
    app.all(path, (c) => {
      const message = `${c.req.method} is not allowed at this path.`;
      const hint = findPathHint(c.req, publicRoutes);
      throw new ApiError('method_not_allowed', addHint(message, hint), { headers: { Allow } });
    });
  }
}

/** Matches the segments before a resource, which callers often omit, add or confuse. */
const PREFIX = /^(?:\/(?:api|v1|web|public))*/;

/** Resources to which callers POST by mistake, each with the resource that they mean. */
const MEANT_BY_POST: Readonly<Record<string, string>> = {
  '/events': '/events/ingest',
  '/events/batch': '/events/ingest/batch',
};

/** Returns the hint for the path of a request that matches no route. */
export function findPathHint(
  { method, path }: Route,
  publicRoutes: readonly Route[],
): string | undefined {
  const resource = readResource(path);
  const meantResource = (method === 'POST' && MEANT_BY_POST[resource]) || resource;
  const isMeant = (route: Route) => {
    const routeResource = readResource(route.path);
    // `/events/ingest` is the ingest, although it also matches `/events/:id`.
    if (!routeResource.includes(':')) return routeResource === meantResource;
    return route.method === method && matchesTemplate(meantResource, routeResource);
  };
  const route = publicRoutes.find(isMeant);
  const isSamePath = route !== undefined && matchesTemplate(path, route.path);
  const hints = [
    path.includes('//') && 'The path has a double slash.',
    /[^/]\/$/.test(path) && 'The path ends with a slash.',
    route !== undefined && !isSamePath && `Use ${route.path.replace(/:(\w+)/g, '{$1}')}.`,
  ];
  return hints.filter((hint) => hint !== false).join(' ') || undefined;
}

/** @example readResource('/api//V1/web/Properties/') // '/properties' */
function readResource(path: string): string {
  const plainPath = path.toLowerCase().replace(/\/+/g, '/').replace(/\/$/, '');
  return plainPath.replace(PREFIX, '');
}

/** @example matchesTemplate('/events/a', '/events/:id') // true */
function matchesTemplate(path: string, template: string): boolean {
  const [segments, templateSegments] = [path.split('/'), template.split('/')];
  return (
    segments.length === templateSegments.length &&
    templateSegments.every((part, index) =>
      part.startsWith(':') ? segments[index] !== '' : part === segments[index],
    )
  );
}
