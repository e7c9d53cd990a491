/** What the development pages share: their HTML document, their headers and their files. */

import type { Context } from 'hono';
import { html } from 'hono/html';
import type { PropsWithChildren } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import type { AppEnv } from '../config.ts';

type FrameProps = PropsWithChildren<{ title: string; style: string; languages?: JSX.Element }>;

/** The document around a page, whose content has the id `main`. Its own texts are English. */
export function Frame({ title, style, languages, children }: FrameProps) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{title}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href={style} />
        <script type="module" src="/preview/pages.js" />
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to the content
        </a>
        <nav class="top row" aria-label="Pages">
          <a href="/">Start</a>
          <a href="/preview">Preview</a>
          <a href="/api/docs">API</a>
          <a href="/api/docs/openapi.json">openapi.json</a>
          {languages}
        </nav>
        {children}
      </body>
    </html>
  );
}

export function NotFoundPage() {
  return (
    <Frame title="Not found" style="/preview/preview.css">
      <main id="main">
        <h1>There is no such page</h1>
        <p>
          <a href="/preview">Catalogue</a> of all listings
        </p>
      </main>
    </Frame>
  );
}

/** Responds with a page that loads from the origins in `sources` only, and that no cache stores. */
export function respond(
  c: Context<AppEnv>,
  page: JSX.Element,
  sources: string,
  status: 200 | 404 = 200,
) {
  const policy = `default-src 'none'; ${sources}; base-uri 'none'; frame-ancestors 'none'`;
  c.header('Content-Security-Policy', policy);
  c.header('Cache-Control', 'no-store');
  return c.html(html`<!doctype html>${page}`, status);
}

export function textFile(c: Context<AppEnv>, text: string, type: string): Response {
  return c.body(text, { headers: { 'Content-Type': `${type}; charset=utf-8` } });
}
