/**
 * The preview: the catalogue as a site shows it, with its missing parts marked, for the editor who has just loaded it.
 * The page reads the feed of this service. Only the development entry mounts these routes; see dev-worker.ts.
 */

import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import { type AppEnv, type Config, configOf } from '../../config.ts';
import card from './card.browser.js';
import cardStyle from './card.css';
import catalogue from './catalogue.browser.js';
import catalogueStyle from './catalogue.css';
import element from './element.browser.js';
import { findHidden } from './hidden.ts';
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

/** Returns the key with which the page reads the feed: the first development key with the scope, else `API_KEY`. */
function feedKeyOf({ apiKeys, developmentKeys }: Config): string {
  const feedKey = developmentKeys.find(({ scopes }) => scopes.includes('feed:read'));
  return feedKey?.key ?? apiKeys[0] ?? '';
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
  <body data-api-key="${feedKeyOf(configOf(c.env))}">
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
