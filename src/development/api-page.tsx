/**
 * The API page: Scalar's API reference over the OpenAPI document, everything from this origin. Only
 * the development entry mounts these routes; see dev-worker.ts.
 */

import { Hono } from 'hono';
// The package exports this file under no name.
import scalar from '../../node_modules/@scalar/api-reference/dist/browser/standalone.js';
import { createOpenApiDocument } from '../api-document.ts';
import { type AppEnv, configOf } from '../config.ts';
import startScript from './api-page.browser.js';
import pageStyle from './api-page.css';
import frameStyle from './frame.css';
import { Frame, respond, textFile } from './frame.tsx';

type Schema = { $ref?: string; default?: unknown; enum?: unknown[]; examples?: unknown[] };
type Parameter = { in?: string; schema?: Schema; examples?: object };
type Described = { $ref?: string; headers?: Record<string, unknown> };
type Operation = { parameters: Parameter[]; responses: Record<string, Described> };
type Shape = {
  info: { description: string; contact?: object };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: {
    headers: Record<string, { description: string }>;
    schemas: Record<string, Schema>;
  };
};

/** Follows the first two paragraphs of the document's introduction. */
const INTRODUCTION = `
*Test Request* sends the key of \`.dev.vars\`. [All operations](#tag/all-operations) has the errors, limits and headers of every operation. The guides are in \`docs/guides\`.
`.trim();

/**
 * Shortens the document for the page. A last section has the rest of the introduction with the
 * table of errors, and the headers of every response. Each operation names its errors.
 */
function pageDocument(whole: ReturnType<typeof createOpenApiDocument>) {
  const document: Shape = JSON.parse(JSON.stringify(whole));
  const { info, tags, paths, components } = document;
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  const [subject = '', credentials = '', ...notes] = info.description.split('\n\n');
  disableFilters(operations, components.schemas);
  removeSharedErrors(operations);
  const headers = takeSharedHeaders(operations, Object.keys(components.headers)).map(
    (name) => `| \`${name}\` | ${components.headers[name]?.description} |`,
  );
  // Scalar draws a contact as a link, and this one has no address.
  delete info.contact;
  info.description = [subject, credentials, INTRODUCTION].join('\n\n');
  tags.push({
    name: 'All operations',
    description: [...notes, ['| header | meaning |', '|---|---|', ...headers].join('\n')].join(
      '\n\n',
    ),
  });
  return document;
}

/** Keeps filters out of samples. Scalar sends each parameter whose schema has a value. */
function disableFilters(operations: readonly Operation[], named: Record<string, Schema>): void {
  for (const each of operations.flatMap(({ parameters }) => parameters)) {
    const schema = { ...each.schema, ...named[each.schema?.$ref?.split('/').at(-1) ?? ''] };
    const value = schema.default ?? schema.enum?.[0] ?? schema.examples?.[0];
    if (each.in !== 'query' || value === undefined) continue;
    each.examples = { default: { value, 'x-disabled': true } };
  }
}

/** Removes the errors that several operations share: the document's table has them. */
function removeSharedErrors(operations: readonly Operation[]): void {
  for (const { responses } of operations) {
    for (const [status, { $ref }] of Object.entries(responses)) {
      if ($ref) delete responses[status];
    }
  }
}

/** Removes the headers of every response, and returns their names. `Cache-Control` differs. */
function takeSharedHeaders(operations: readonly Operation[], described: string[]): string[] {
  const all = operations.flatMap(({ responses }) => Object.values(responses));
  const shared = described.filter((name) => all.every(({ headers = {} }) => name in headers));
  for (const { headers = {} } of all) {
    for (const name of shared) delete headers[name];
  }
  return shared;
}

/** The page loads from its own origin only. Scalar adds its style sheet and icons itself. */
const SOURCES = [
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'none'",
].join('; ');

/** Serves the page, its document and its files under /api/docs. */
export function docsRoutes() {
  return new Hono<AppEnv>()
    .get('/api/docs', (c) => respond(c, <ApiPage apiKeys={configOf(c.env).apiKeys} />, SOURCES))
    .get('/api/docs/openapi.json', (c) => c.json(createOpenApiDocument()))
    .get('/api/docs/page.json', (c) => c.json(pageDocument(createOpenApiDocument())))
    .get('/api/docs/scalar.js', (c) => textFile(c, scalar, 'text/javascript'))
    .get('/api/docs/page.css', (c) => textFile(c, frameStyle + pageStyle, 'text/css'))
    .get('/api/docs/start.js', (c) => textFile(c, startScript, 'text/javascript'));
}

/** The page has the key with which requests are tried. The document never has a key. */
function ApiPage({ apiKeys: [key = ''] }: { apiKeys: readonly string[] }) {
  return (
    <Frame title="Events and property feed: API" style="/api/docs/page.css">
      <div id="main" data-api-key={key} />
      <script src="/api/docs/scalar.js" />
      <script src="/api/docs/start.js" />
    </Frame>
  );
}
