/**
 * The preview: the catalogue as a site shows it, with its missing parts marked, for the editor who
 * has just imported it. Only the development entry mounts these routes.
 */

import { Hono } from 'hono';
import type { AppEnv } from '../../config.ts';
import frameStyle from '../frame.css';
import { NotFoundPage, respond, textFile } from '../frame.tsx';
import script from '../pages.browser.js';
import { readListings } from './catalogue.ts';
import { CataloguePage } from './catalogue-page.tsx';
import { ListingPage } from './listing-page.tsx';
import style from './preview.css';
import { view } from './view.ts';

/** Photos come from any origin. */
const SOURCES =
  "script-src 'self'; style-src 'self'; img-src http: https: data:; form-action 'self'";

/** Serves the catalogue, the page of each listing with its JSON, and their files under /preview. */
export function previewRoutes() {
  return new Hono<AppEnv>()
    .get('/preview', async (c) => {
      const listings = await readListings(c.env);
      const page = <CataloguePage listings={listings} view={view.parse(c.req.query())} />;
      return respond(c, page, SOURCES);
    })
    .get('/preview/listings/:slug', async (c) => {
      const [listing] = await readListings(c.env, c.req.param('slug'));
      if (listing === undefined) return respond(c, <NotFoundPage />, SOURCES, 404);
      const page = <ListingPage listing={listing} view={view.parse(c.req.query())} />;
      return respond(c, page, SOURCES);
    })
    .get('/preview/listings/:slug/feed.json', async (c) => {
      const [listing] = await readListings(c.env, c.req.param('slug'));
      return listing === undefined || listing.status === 'hidden' ? c.notFound() : c.json(listing);
    })
    .get('/preview/preview.css', (c) => textFile(c, frameStyle + style, 'text/css'))
    .get('/preview/pages.js', (c) => textFile(c, script, 'text/javascript'))
    .get('/preview/*', (c) => respond(c, <NotFoundPage />, SOURCES, 404));
}
