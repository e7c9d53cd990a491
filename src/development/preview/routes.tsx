/**
 * The preview: the catalogue as a site shows it, with its missing parts marked, for the editor who
 * has just imported it. Only the development entry mounts these routes.
 */

import { Hono } from 'hono';
import type { AppEnv } from '../../config.ts';
import frameStyle from '../frame.css';
import { respond, textFile } from '../frame.tsx';
import { readListings } from './catalogue.ts';
import { CataloguePage } from './catalogue-page.tsx';
import { ListingPage } from './listing-page.tsx';
import style from './preview.css';
import { view } from './view.ts';

/** The page has no script. Photos come from any origin. */
const SOURCES = "style-src 'self'; img-src http: https: data:; form-action 'self'";

/** Serves the catalogue, the page of each listing, and their style sheet under /preview. */
export function previewRoutes() {
  return new Hono<AppEnv>()
    .get('/preview', async (c) => {
      const listings = await readListings(c.env);
      const page = <CataloguePage listings={listings} view={view.parse(c.req.query())} />;
      return respond(c, page, SOURCES);
    })
    .get('/preview/listings/:slug', async (c) => {
      const [listing] = await readListings(c.env, c.req.param('slug'));
      if (listing === undefined) return c.notFound();
      const page = <ListingPage listing={listing} view={view.parse(c.req.query())} />;
      return respond(c, page, SOURCES);
    })
    .get('/preview/preview.css', (c) => textFile(c, frameStyle + style, 'text/css'));
}
