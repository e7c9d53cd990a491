/**
 * Renders the API page: Scalar's API reference of the OpenAPI document. The page loads everything
 * from its own origin.
 */

import { createOpenApiDocument } from '../openapi/api-document.ts';
import { describeCommonHeaders } from '../openapi/headers.ts';
import { WINDOW_SECONDS } from '../rate-limit/counter-arithmetic.ts';
import { Frame } from './frame.tsx';

type Schema = { $ref?: string; default?: unknown; enum?: unknown[]; examples?: unknown[] };
type Operation = {
  parameters: { in?: string; schema?: Schema; examples?: object }[];
  responses: Record<string, { $ref?: string; headers?: Record<string, unknown> }>;
};
type Shape = {
  info: { description: string; contact?: object };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { headers: Record<string, { description: string }>; schemas: Record<string, Schema> };
};

/** The paragraph of the introduction that is specific to this page. */
const HINT =
  '*Test Request* sends the key of `.dev.vars`. [All operations](#tag/all-operations) has the errors, limits and headers of every operation. [The guides](/docs) explain how to use it.';

/**
 * Returns a shortened OpenAPI document for the page. Moves the rest of the introduction to a last
 * section, with the table of errors and a table of the headers that every response has.
 */
export function pageDocument(): Shape {
  const document: Shape = JSON.parse(JSON.stringify(createOpenApiDocument()));
  const { info, tags, paths } = document;
  const { headers: describedHeaders, schemas } = document.components;
  const [subject = '', credentials = '', ...notes] = info.description.split('\n\n');
  const sharedHeaders = Object.keys(describeCommonHeaders(WINDOW_SECONDS));
  const rows = sharedHeaders.map(
    (name) => `| \`${name}\` | ${describedHeaders[name]?.description} |`,
  );
  const table = ['| header | meaning |', '|---|---|', ...rows].join('\n');
  info.description = [subject, credentials, HINT].join('\n\n');
  // Scalar shows a contact as a link, but this contact has no URL.
  delete info.contact;
  tags.push({ name: 'All operations', description: [...notes, table].join('\n\n') });
  for (const operation of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    disableFilters(operation, schemas);
    for (const [status, { $ref, headers = {} }] of Object.entries(operation.responses)) {
      // The table of errors includes this error, because other operations also return it.
      if ($ref) delete operation.responses[status];
      for (const name of sharedHeaders) delete headers[name];
    }
  }
  return document;
}

/**
 * Removes filters from sample requests. Otherwise Scalar would send every parameter whose schema has
 * a default, an enum or an example.
 */
function disableFilters({ parameters }: Operation, namedSchemas: Record<string, Schema>): void {
  for (const parameter of parameters.filter(({ in: location }) => location === 'query')) {
    const name = parameter.schema?.$ref?.split('/').at(-1) ?? '';
    const schema = { ...parameter.schema, ...namedSchemas[name] };
    const value = schema.default ?? schema.enum?.[0] ?? schema.examples?.[0];
    if (value !== undefined) parameter.examples = { default: { value, 'x-disabled': true } };
  }
}

/**
 * Renders the page. It contains the API key for test requests, which the OpenAPI document never
 * contains.
 */
export function ApiPage({ apiKey }: { apiKey: string | undefined }) {
  return (
    <Frame title="Events and property feed: API" style="/api/docs/page.css">
      <div id="main" data-api-key={apiKey} />
      <script src="/api/docs/scalar.js" />
      <script src="/api/docs/start.js" />
    </Frame>
  );
}
