/**
 * The preview: the catalogue as a site shows it, with its missing parts marked, for the editor who has just imported it.
 * Only the development entry mounts these routes.
 */

import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import type { JSX } from 'hono/jsx/jsx-runtime';
import type { AppEnv } from '../../config.ts';
import frameStyle from '../frame.css';
import { readListings } from './catalogue.ts';
import { CataloguePage } from './catalogue-page.tsx';
import { ListingPage } from './listing-page.tsx';
import style from './preview.css';
import { view } from './view.ts';

/** The page has no script. Photos come from any origin. */
const PAGE_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  'img-src http: https: data:',
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** Serves the catalogue, the page of each listing, and their style sheet under /preview. */
export function previewRoutes() {
  return new Hono<AppEnv>()
    .get('/preview', async (c) => {
      const listings = await readListings(c.env);
      return page(c, <CataloguePage listings={listings} view={view.parse(c.req.query())} />);
    })
    .get('/preview/listings/:slug', async (c) => {
      const listings = await readListings(c.env);
      const listing = listings.find(({ slug }) => slug === c.req.param('slug'));
      if (listing === undefined) return c.notFound();
      return page(c, <ListingPage listing={listing} view={view.parse(c.req.query())} />);
    })
    .get('/preview/preview.css', (c) => {
      return c.body(frameStyle + style, { headers: { 'Content-Type': 'text/css; charset=utf-8' } });
    });
}

function page(c: Context<AppEnv>, content: JSX.Element) {
  c.header('Content-Security-Policy', PAGE_POLICY);
  c.header('Cache-Control', 'no-store');
  return c.html(html`<!doctype html>${content}`);
}
