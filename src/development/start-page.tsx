/** The start page of `npm run dev`, the guides, and the drawings that are the sample photos. */

import apps from '../../docs/guides/apps.md';
import site from '../../docs/guides/building-a-site.md';
import sheet from '../../docs/guides/listings-file.md';
import quickstart from '../../docs/guides/quickstart.md';
import events from '../../docs/guides/sending-events.md';
import copy from '../../docs/guides/staying-in-sync.md';
import { firstRequests } from './first-requests.ts';
import { Frame } from './frame.tsx';

const GUIDES = [
  { name: 'quickstart', subject: 'The first requests', text: quickstart },
  { name: 'building-a-site', subject: 'A marketing site from the listings', text: site },
  { name: 'apps', subject: 'A mobile app that shows the listings', text: apps },
  { name: 'sending-events', subject: 'A booking system that sends its events', text: events },
  { name: 'staying-in-sync', subject: 'A copy of the listings, and each event once', text: copy },
  { name: 'listings-file', subject: 'The file that loads and changes the listings', text: sheet },
];

const PARTS = [
  { path: '/api/health/detailed', name: 'Service', subject: 'its health' },
  { path: '/preview', name: 'Preview', subject: 'the listings as a site shows them' },
  { path: '/api/docs', name: 'API page', subject: 'every operation, with requests to try' },
  { path: '/api/docs/openapi.json', name: 'openapi.json', subject: 'for generated clients' },
];

export function StartPage({ apiKey, origin }: { apiKey: string | undefined; origin: string }) {
  return (
    <Frame title="Events and property feed">
      <h1>Events and property feed</h1>
      <ul class="grid">
        {PARTS.map(({ path, name, subject }) => (
          <li class="card">
            <h2>
              <a href={path}>{name}</a> <span data-state={path}>…</span>
            </h2>
            <p>{subject}</p>
          </li>
        ))}
      </ul>
      <h2>First requests</h2>
      {apiKey === undefined && <p>API_KEY is empty in .dev.vars.</p>}
      {firstRequests(origin, apiKey ?? '').map((line) => (
        <p class="box">
          <code>{line}</code>{' '}
          <button type="button" class="copy">
            Copy
          </button>
        </p>
      ))}
      <h2>Guides</h2>
      <ul class="grid">
        {GUIDES.map(({ name, subject }) => (
          <li class="card">
            <h3>
              <a href={`/guides/${name}`}>{subject}</a>
            </h3>
            <p>docs/guides/{name}.md</p>
          </li>
        ))}
      </ul>
    </Frame>
  );
}

export function findGuidePage(name: string) {
  const guide = GUIDES.find((each) => each.name === name);
  if (guide === undefined) return undefined;
  const { subject, text } = guide;
  return (
    <Frame title={subject}>
      <h1>{subject}</h1>
      <pre class="box paragraphs">{text}</pre>
    </Frame>
  );
}

/** What a drawing shows, by the section of the photo: a front, a room, a kitchen, else a view. */
const SHAPES: Record<string, string> = {
  hero: '<path d="M250 800V430l350-230 350 230v370z" fill="#f4efe6"/><path d="M210 450l390-260 390 260z" fill="#8c5a44"/><path d="M540 800V600h120v200zM330 520h130v120H330zM740 520h130v120H740z" fill="#4a5a66"/>',
  studio:
    '<path d="M0 650h1200v250H0z" fill="#c9a27a"/><path d="M180 480h560v190H180zM140 560h90v170h-90zM700 560h90v170h-90z" fill="#f4efe6"/><path d="M880 200h200v260H880z" fill="#4a5a66"/>',
  gallery:
    '<path d="M0 720h1200v180H0z" fill="#c9a27a"/><path d="M100 500h1000v250H100zM100 130h640v170H100z" fill="#f4efe6"/><path d="M80 480h1040v30H80z" fill="#4a5a66"/><path d="M830 480V200l170 60v40l-130-40v220z" fill="#8c5a44"/>',
  view: '<circle cx="800" cy="390" r="75" fill="#fff4d6"/><ellipse cx="950" cy="950" rx="800" ry="420" fill="#8fa98a"/><ellipse cx="180" cy="980" rx="760" ry="360" fill="#6d8a76"/>',
};

/** Draws a home. The path chooses the colour of the background. */
export function drawPhoto(path: string): string {
  const hue = [...path].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 997, 0);
  const [, section = ''] = /\d+-([\w-]+)\.jpg$/.exec(path) ?? [];
  const shape = SHAPES[section] ?? SHAPES.view;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="900">
<rect width="1200" height="900" fill="hsl(${hue} 45% 84%)"/>${shape}</svg>`;
}
