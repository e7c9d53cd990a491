/** Renders the start page of `npm run dev`. */

import { firstRequests } from './first-requests.ts';
import { Frame } from './frame.tsx';

const PARTS = [
  { path: '/docs', name: 'Documents', subject: 'guides, reference, operation, architecture' },
  {
    path: '/docs/reference/event-types',
    name: 'Event types',
    subject: 'the fields of each type, and a sample to send',
  },
  { path: '/api/docs', name: 'API page', subject: 'every operation, with requests to try' },
  { path: '/preview', name: 'Preview', subject: 'the listings as a site shows them' },
  {
    path: '/cdn-cgi/explorer',
    name: 'Local Explorer',
    subject: 'stored data, and the log and traces of each request',
  },
  { path: '/api/health/detailed', name: 'Service', subject: 'its health' },
  { path: '/api/docs/openapi.json', name: 'openapi.json', subject: 'for generated clients' },
];

export function StartPage({ apiKey, origin }: { apiKey: string | undefined; origin: string }) {
  return (
    <Frame title="Events and property feed">
      <h1>Events and property feed</h1>
      <p>
        A property feed for marketing sites and apps, and an endpoint that stores each event of a
        booking system exactly once. This is the service in your working copy.
      </p>
      <h2>First requests</h2>
      {apiKey === undefined && (
        <p>API_KEY is empty in .dev.vars. Set it to a key of at least 16 characters.</p>
      )}
      {firstRequests(origin, apiKey ?? '').map((line) => (
        <div class="box">
          <pre>
            <code>{line.replaceAll(/ (?=-[Hd] |'?http)/g, ' \\\n  ')}</code>
          </pre>
          <button type="button" class="copy">
            Copy
          </button>
        </div>
      ))}
      <h2>More</h2>
      <ul class="grid">
        {PARTS.map(({ path, name, subject }) => (
          <li class="box">
            <h3>
              <a href={path}>{name}</a> <span data-state={path} />
            </h3>
            <p>{subject}</p>
          </li>
        ))}
      </ul>
    </Frame>
  );
}
