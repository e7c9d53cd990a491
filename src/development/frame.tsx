/** Renders the HTML document around all development pages, and sets their headers. */

import type { Context } from 'hono';
import { html } from 'hono/html';
import type { PropsWithChildren } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import type { AppEnv } from '../app-env.ts';

type FrameProps = PropsWithChildren<{ title: string; style?: string }>;

/**
 * Renders the HTML document around a page. A page with its own style sheet also provides its own
 * `main` element.
 */
export function Frame({ title, style, children }: FrameProps) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{title}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href={style ?? '/preview/preview.css'} />
        <script type="module" src="/preview/pages.js" />
      </head>
      <body>
        <a href="#main">Skip to the content</a>
        <nav class="top row" aria-label="Pages">
          <a href="/">Start</a>
          <a href="/docs">Documents</a>
          <a href="/preview">Preview</a>
          <a href="/api/docs">API</a>
          <a href="/api/docs/openapi.json">openapi.json</a>
        </nav>
        {style ? children : <main id="main">{children}</main>}
      </body>
    </html>
  );
}

/**
 * Content security policy for pages that load files from their own origin and photos from any
 * origin.
 */
const SOURCES = "script-src 'self'; style-src 'self'; connect-src 'self'; img-src * data:";

type Reply = { status?: 200 | 404; sources?: string };

/**
 * Responds with a page that caches must not store. `sources` are directives for its content
 * security policy.
 */
export function respond(
  c: Context<AppEnv>,
  page: JSX.Element,
  { status = 200, sources = SOURCES }: Reply = {},
) {
  const limits = "form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
  c.header('Content-Security-Policy', `default-src 'none'; ${sources}; ${limits}`);
  c.header('Cache-Control', 'no-store');
  return c.html(html`<!doctype html>${page}`, status);
}
