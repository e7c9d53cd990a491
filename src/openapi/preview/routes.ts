/**
 * The preview: the catalogue as a site shows it, with its missing parts marked, for the editor who has just loaded it.
 * The page reads the feed of this service. Only the development entry mounts these routes; see dev-worker.ts.
 */

import { and, asc, eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/d1';
import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import { type AppEnv, configOf } from '../../config.ts';
import { render } from '../../properties/render.ts';
import type { Property } from '../../properties/resource.ts';
import { source } from '../../properties/source.ts';
import { properties } from '../../properties/table.ts';
import { readD1 } from '../../storage/d1.ts';
import card from './card.browser.js';
import cardStyle from './card.css';
import catalogue from './catalogue.browser.js';
import catalogueStyle from './catalogue.css';
import element from './element.browser.js';
import listing from './listing.browser.js';
import listingStyle from './listing.css';
import missing from './missing.browser.js';
import picture from './picture.browser.js';
import pictureStyle from './picture.css';
import preview from './preview.browser.js';
import previewStyle from './preview.css';
import reading from './reading.browser.js';
import words from './words.browser.js';

/** The modules of the page's script, by the names under which they import each other. */
const SCRIPTS = { card, catalogue, element, listing, missing, picture, preview, reading, words };

/** In the order of the cascade: a later style overrides an earlier one. */
const STYLE = [previewStyle, pictureStyle, cardStyle, catalogueStyle, listingStyle].join('\n');

/** Lets the page load and read from its own origin only, and show photos of any origin. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  'img-src http: https: data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Serves the page, its files and the hidden listings under /preview. */
export function previewRoutes() {
  const routes = new Hono<AppEnv>()
    .get('/preview', page)
    .get('/preview/listings/:slug', page)
    .get('/preview/hidden.json', async (c) => {
      const { cursor, slug } = c.req.query();
      const { publicSiteUrl } = configOf(c.env);
      const { listings, next } = await findHidden(c.env.DB, publicSiteUrl, {
        afterId: cursor,
        slug,
      });
      c.header('Cache-Control', 'no-store');
      return c.json({ object: 'list', data: listings, has_more: next !== null, next_cursor: next });
    })
    .get('/preview/preview.css', (c) => file(c, STYLE, 'text/css'));
  for (const [name, text] of Object.entries(SCRIPTS)) {
    routes.get(`/preview/${name}.browser.js`, (c) => file(c, text, 'text/javascript'));
  }
  return routes;
}

function file(c: Context<AppEnv>, text: string, type: string): Response {
  c.header('Cache-Control', 'no-cache');
  return c.body(text, { headers: { 'Content-Type': `${type}; charset=utf-8` } });
}

/** Answers the one page that shows the catalogue and each listing: its script reads the path. */
function page(c: Context<AppEnv>) {
  c.header('Content-Security-Policy', PAGE_POLICY);
  c.header('Cache-Control', 'no-store');
  return c.html(html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Preview of the catalogue</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/preview/preview.css">
    <script type="module" src="/preview/preview.browser.js"></script>
  </head>
  <body data-api-key="${configOf(c.env).apiKeys[0] ?? ''}">
    <a class="skip" href="#main">Skip to the content</a>
    <header class="top">
      <a class="brand" href="/preview">Preview</a>
      <nav class="languages" aria-label="Language of the site">
        <a href="?lang=en" data-language="en" lang="en" hreflang="en">English</a>
        <a href="?lang=es" data-language="es" lang="es" hreflang="es">Español</a>
        <a href="?lang=fr" data-language="fr" lang="fr" hreflang="fr">Français</a>
      </nav>
      <a class="aside" href="/api/docs">API</a>
    </header>
    <main id="main" tabindex="-1">
      <noscript><p class="notice">The preview needs JavaScript: it reads the feed of this service.</p></noscript>
    </main>
  </body>
</html>`);
}

/** A listing that the site does not show, with the fields of a property. */
type HiddenProperty = Omit<Property, 'status'> & { status: 'hidden' };

/** Listings per page. */
const PAGE_LISTINGS = 100;

/** A request for the hidden listings after the listing `afterId`, or for the listing of a slug. */
type HiddenRequest = { afterId?: string | undefined; slug?: string | undefined };

/**
 * Finds a page of hidden listings, in the order of the feed, which never shows them. Each is rendered by the feed's own
 * rules, as if it were listed. `next` is the `afterId` of the next page, or null on the
 * last page.
 */
async function findHidden(
  database: D1Database,
  publicSiteUrl: string,
  request: HiddenRequest,
): Promise<{ listings: HiddenProperty[]; next: string | null }> {
  const { display_order, id, slug, status } = properties;
  const isAfter = sql`(${display_order}, ${id}) >
    (select ${display_order}, ${id} from ${properties} where ${id} = ${request.afterId})`;
  const query = drizzle(database)
    .select({ id, source: properties.source })
    .from(properties)
    .where(
      and(
        eq(status, 'hidden'),
        request.afterId === undefined ? undefined : isAfter,
        request.slug === undefined ? undefined : eq(slug, request.slug),
      ),
    )
    .orderBy(asc(display_order), asc(id))
    .limit(PAGE_LISTINGS + 1);
  const rows = await readD1(() => query.all());
  const page = rows.slice(0, PAGE_LISTINGS);
  return {
    listings: page.map((row) => hiddenPropertyOf(row.source, publicSiteUrl)),
    next: rows.length > page.length ? (page.at(-1)?.id ?? null) : null,
  };
}

function hiddenPropertyOf(stored: string, publicSiteUrl: string): HiddenProperty {
  const listing = source.parse(JSON.parse(stored));
  const rendered = render({ ...listing, status: 'listed' }, publicSiteUrl);
  if (rendered === null) throw new Error(`the listing ${listing.id} is rendered to nothing`);
  return { ...rendered, status: 'hidden' };
}
