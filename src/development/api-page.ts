/**
 * The documentation page: Swagger UI over the OpenAPI document, everything from this origin. Only the development entry
 * mounts these routes; see dev-worker.ts.
 */

import { type Context, Hono } from 'hono';
import { html } from 'hono/html';
import swaggerUiStyle from 'swagger-ui-dist/swagger-ui.css';
import swaggerUi from 'swagger-ui-dist/swagger-ui-bundle.js';
import * as z from 'zod';
import { type AppEnv, configOf } from '../config.ts';
import { createOpenApiDocument } from '../openapi/document.ts';
import startScript from './api-page.browser.js';
import pageStyle from './api-page.css';

const record = z.record(z.string(), z.unknown());
const response = z.looseObject({ headers: record.optional() });
const operation = z.looseObject({
  responses: z.record(z.string(), response),
});
const shape = z.looseObject({
  info: z.looseObject({ description: z.string() }),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.looseObject({
    headers: z.record(z.string(), z.looseObject({ description: z.string() })),
  }),
});

type Document = z.infer<typeof shape>;

/** Shortens the document for the page: the headers of every answer move into its introduction. */
function pageDocument(whole: ReturnType<typeof createOpenApiDocument>): Document {
  const document = shape.parse(JSON.parse(JSON.stringify(whole)));
  const common = commonHeadersOf(document);
  document.info.description += `\n\n${tableOf(common, document)}`;
  for (const each of operationsOf(document)) {
    for (const { headers = {} } of Object.values(each.responses)) {
      for (const name of common) delete headers[name];
    }
  }
  return document;
}

function operationsOf({ paths }: Document) {
  return Object.values(paths).flatMap((methods) => Object.values(methods));
}

/** The names of the headers that every response describes in the same words. `Cache-Control` has words of its own in each. */
function commonHeadersOf(document: Document): string[] {
  const [first = [], ...others] = operationsOf(document).flatMap(({ responses }) =>
    Object.values(responses).map(({ headers = {} }) => Object.keys(headers)),
  );
  return first.filter(
    (name) =>
      document.components.headers[name] !== undefined &&
      others.every((names) => names.includes(name)),
  );
}

function tableOf(names: readonly string[], { components }: Document): string {
  const rows = names.map((name) => `| \`${name}\` | ${components.headers[name]?.description} |`);
  return ['**Headers of every answer**', '', '| header | |', '|---|---|', ...rows].join('\n');
}

/**
 * Lets the page load from and talk to its own origin only. Swagger UI draws its icons as data URLs and sets style
 * attributes.
 */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "style-src-attr 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Serves the page, its document and its files under /api/docs, and redirects `/` there. */
export function docsRoutes() {
  return new Hono<AppEnv>()
    .get('/', (c) => c.redirect('/api/docs'))
    .get('/api/docs', (c) => {
      const [key = ''] = configOf(c.env).apiKeys;
      c.header('Content-Security-Policy', PAGE_POLICY);
      c.header('Cache-Control', 'no-store');
      return c.html(page(key));
    })
    .get('/api/docs/openapi.json', (c) => c.json(createOpenApiDocument()))
    .get('/api/docs/page.json', (c) => c.json(pageDocument(createOpenApiDocument())))
    .get('/api/docs/swagger-ui.js', (c) => file(c, swaggerUi, 'text/javascript'))
    .get('/api/docs/swagger-ui.css', (c) => file(c, swaggerUiStyle, 'text/css'))
    .get('/api/docs/page.css', (c) => file(c, pageStyle, 'text/css'))
    .get('/api/docs/start.js', (c) => file(c, startScript, 'text/javascript'));
}

function file(c: Context<AppEnv>, text: string, type: string): Response {
  return c.body(text, { headers: { 'Content-Type': `${type}; charset=utf-8` } });
}

/** Makes the page. It holds the key with which requests are tried. The document never holds a key. */
function page(apiKey: string) {
  return html`<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Events and property feed: API</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="/api/docs/swagger-ui.css">
    <link rel="stylesheet" href="/api/docs/page.css">
  </head>
  <body>
    <div id="docs" data-api-key="${apiKey}"></div>
    <script src="/api/docs/swagger-ui.js"></script>
    <script src="/api/docs/start.js"></script>
  </body>
</html>`;
}
