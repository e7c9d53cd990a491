/** Adds the pages of `npm run dev` to the service, and the files that the pages load. */

import { type Context, Hono } from 'hono';
import type { JSX } from 'hono/jsx/jsx-runtime';
import siteStyle from '../../docs/examples/site.css';
import previewShot from '../../docs/images/preview.png';
import listingShot from '../../docs/images/preview-listing.png';
// The package does not list this file in its exports.
import scalar from '../../node_modules/@scalar/api-reference/dist/browser/standalone.js';
import type { AppEnv } from '../app-env.ts';
import { readConfig } from '../config.ts';
import { createOpenApiDocument } from '../openapi/api-document.ts';
import { prefersHtml } from './accept.ts';
import apiScript from './api-page.browser.js';
import apiStyle from './api-page.css';
import { ApiPage, pageDocument } from './api-page.tsx';
import { findDocumentPage, NotFoundPage } from './documents/document-page.tsx';
import documentStyle from './documents/documents.css';
import frameStyle from './frame.css';
import { respond } from './frame.tsx';
import script from './pages.browser.js';
import { readListings } from './preview/catalogue.ts';
import { CataloguePage } from './preview/catalogue-page.tsx';
import { ListingPage, NoListing } from './preview/listing-page.tsx';
import style from './preview/preview.css';
import { view } from './preview/view.ts';
import { findPhoto } from './sample-photos.ts';
import { StartPage } from './start-page.tsx';

/**
 * Content security policy of the API page. The page loads files from its own origin, and Scalar
 * adds inline styles and icons.
 */
const API_PAGE_SOURCES =
  "script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:";

export function pageRoutes() {
  return (
    new Hono<AppEnv>()
      .get('/', (c) => {
        const { origin } = new URL(c.req.url);
        return respond(c, <StartPage apiKey={readConfig(c.env).apiKeys[0]} origin={origin} />);
      })
      .get('/docs', (c) => c.redirect('/docs/README.md'))
      .get('/docs/page.css', (c) => sendFile(c, frameStyle + documentStyle, 'text/css'))
      .get('/docs/images/preview.png', (c) => sendImage(c, previewShot, 'image/png'))
      .get('/docs/images/preview-listing.png', (c) => sendImage(c, listingShot, 'image/png'))
      .get('/sample-photos/*', (c) => {
        const photo = findPhoto(c.req.path);
        return photo ? sendImage(c, photo, 'image/webp') : c.notFound();
      })
      .get('/preview', async (c) => {
        const listings = await readListings(c.env);
        return respond(c, <CataloguePage listings={listings} view={view.parse(c.req.query())} />);
      })
      .get('/preview/listings/:slug', async (c) => {
        const slug = c.req.param('slug');
        const [listing] = await readListings(c.env, slug);
        const chosenView = view.parse(c.req.query());
        return listing
          ? respond(c, <ListingPage listing={listing} view={chosenView} />)
          : respondNotFound(c, <NoListing slug={slug} view={chosenView} />);
      })
      .get('/preview/listings/:slug/feed.json', async (c) => {
        const [listing] = await readListings(c.env, c.req.param('slug'));
        return listing && listing.status !== 'hidden' ? c.json(listing) : c.notFound();
      })
      .get('/preview/preview.css', (c) => sendFile(c, siteStyle + frameStyle + style, 'text/css'))
      .get('/preview/pages.js', (c) => sendFile(c, script, 'text/javascript'))
      .get('/api/docs', (c) =>
        respond(c, <ApiPage apiKey={readConfig(c.env).apiKeys[0]} />, {
          sources: API_PAGE_SOURCES,
        }),
      )
      .get('/api/docs/openapi.json', (c) => c.json(createOpenApiDocument()))
      .get('/api/docs/page.json', (c) => c.json(pageDocument()))
      .get('/api/docs/scalar.js', (c) => sendFile(c, scalar, 'text/javascript'))
      .get('/api/docs/page.css', (c) => sendFile(c, frameStyle + apiStyle, 'text/css'))
      .get('/api/docs/start.js', (c) => sendFile(c, apiScript, 'text/javascript'))
      // Must come last, because it matches every path outside /api.
      .get('/:document{(?!/*api(?:/|$)).+}', (c) => {
        const running = {
          origin: new URL(c.req.url).origin,
          apiKey: readConfig(c.env).apiKeys[0] ?? '',
        };
        const page = findDocumentPage(c.req.param('document'), running);
        return page ? respond(c, page) : respondNotFound(c, <NotFoundPage path={c.req.path} />);
      })
  );
}

/** Responds with a 404. Browsers get the page, and other clients get an API error. */
function respondNotFound(c: Context<AppEnv>, page: JSX.Element): Response | Promise<Response> {
  return prefersHtml(c.req.header('Accept')) ? respond(c, page, { status: 404 }) : c.notFound();
}

function sendImage(c: Context<AppEnv>, bytes: ArrayBuffer, type: string): Response {
  // Browsers use inline styles to centre an image that is opened on its own.
  c.header('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'");
  return c.body(bytes, { headers: { 'Content-Type': type } });
}

function sendFile(c: Context<AppEnv>, text: string, type: string): Response {
  return c.body(text, { headers: { 'Content-Type': `${type}; charset=utf-8` } });
}
