/** The start page of `npm run dev`, and the drawings that it serves as sample photos. */

import { Hono } from 'hono';
import { type AppEnv, configOf } from '../config.ts';
import { Frame, respond } from './frame.tsx';

const GUIDES = {
  quickstart: 'the first requests',
  'building-a-site': 'a marketing site from the listings',
  apps: 'a mobile app that shows the listings',
  'sending-events': 'a booking system that sends its events',
  'staying-in-sync': 'a copy of the listings, and each event once',
  'listings-file': 'the file that loads and changes the listings',
};

const SOURCES = "style-src 'self'; img-src data:";

/** Serves the start page at `/`, and a drawing at each path of a sample photo. */
export function startRoutes() {
  return new Hono<AppEnv>()
    .get('/', (c) => respond(c, <StartPage apiKeys={configOf(c.env).apiKeys} />, SOURCES))
    .get('/sample-photos/*', (c) =>
      c.body(drawing(c.req.path), { headers: { 'Content-Type': 'image/svg+xml' } }),
    );
}

function StartPage({ apiKeys: [key] }: { apiKeys: readonly string[] }) {
  return (
    <Frame title="Events and property feed" style="/preview/preview.css">
      <main id="main">
        <h1>Events and property feed</h1>
        <p>
          <a href="/api/docs">API page</a>: every operation, with samples and requests to try
          <br />
          <a href="/preview">Preview</a>: the listings as a site shows them, with what is missing
          <br />
          <a href="/api/docs/openapi.json">openapi.json</a>: the document for generated clients
        </p>
        <h2>Key</h2>
        <p>{key ? <code>x-api-key: {key}</code> : 'API_KEY is empty in .dev.vars.'}</p>
        <h2>Guides</h2>
        <ul>
          {Object.entries(GUIDES).map(([name, subject]) => (
            <li>
              <code>docs/guides/{name}.md</code>: {subject}
            </li>
          ))}
        </ul>
      </main>
    </Frame>
  );
}

/** Draws hills under a sun. The path chooses the colour. */
function drawing(path: string): string {
  const hue = [...path].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 360, 0);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="900">
<rect width="1200" height="900" fill="hsl(${hue} 45% 84%)"/>
<circle cx="800" cy="390" r="75" fill="#fff4d6"/>
<ellipse cx="950" cy="950" rx="800" ry="420" fill="hsl(${hue} 30% 64%)"/>
<ellipse cx="180" cy="980" rx="760" ry="360" fill="hsl(${hue} 30% 50%)"/>
</svg>`;
}
