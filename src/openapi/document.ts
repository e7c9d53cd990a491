/**
 * The OpenAPI document, made from the chapters of the capabilities, with a code sample for each operation. Its schemas
 * are the schemas that validate requests, and with which the tests parse answers.
 */

import * as z from 'zod';
import { createDocument, type ZodOpenApiOverride } from 'zod-openapi';
import { securitySchemes } from '../auth/openapi.ts';
import { EXAMPLE_KEY, eventChapter } from '../events/openapi.ts';
import { healthChapter } from '../health/openapi.ts';
import { propertyChapter } from '../properties/openapi.ts';
import { WINDOW_SECONDS } from '../rate-limit/lease.ts';
import { VERSION } from '../version.ts';
import { portablePattern } from './portable-pattern.ts';

/** The request that a code sample sends. */
type SampledRequest = {
  /** In upper case. */
  method: string;
  /** With values in place of its parameters, and with the query. */
  path: string;
  /** Without the key and the content type. */
  headers: Readonly<Record<string, string>>;
  needsKey: boolean;
  body?: unknown;
};

/** Writes the samples of `x-codeSamples`. They read `API_URL` and `API_KEY` from the environment. */
function codeSamplesOf(request: SampledRequest) {
  return [
    { lang: 'Shell', label: 'curl', source: curlOf(request) },
    { lang: 'TypeScript', label: 'TypeScript', source: typeScriptOf(request) },
  ];
}

function curlOf({ method, path, headers, needsKey, body }: SampledRequest): string {
  const lines = [
    `curl -s "$API_URL${path}"`,
    ...(needsKey ? ['-H "x-api-key: $API_KEY"'] : []),
    ...Object.entries(headers).map(([name, value]) => `-H '${name}: ${value}'`),
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`]),
    ...(body === undefined ? [] : [`-d '${JSON.stringify(body)}'`]),
    // Without -X, curl sends a GET, or a POST if there is data.
    ...(method === (body === undefined ? 'GET' : 'POST') ? [] : [`-X ${method}`]),
  ];
  return lines.join(' \\\n  ');
}

function typeScriptOf({ method, path, headers, needsKey, body }: SampledRequest): string {
  const sent = [
    ...(needsKey ? [`    'x-api-key': process.env.API_KEY ?? '',`] : []),
    ...Object.entries(headers).map(([name, value]) => `    '${name}': '${value}',`),
    ...(body === undefined ? [] : [`    'Content-Type': 'application/json',`]),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(sent.length === 0 ? [] : ['  headers: {', ...sent, '  },']),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${literalOf(body)}),`]),
  ];
  const url = `\`\${process.env.API_URL}${path}\``;
  const call =
    options.length === 0 ? `fetch(${url})` : `fetch(${url}, {\n${options.join('\n')}\n})`;
  return [
    `const response = await ${call};`,
    'if (!response.ok) throw new Error(await response.text());',
    'console.log(await response.json());',
  ].join('\n');
}

/** Writes a value as TypeScript does, indented to stand in the options of a call. */
function literalOf(value: unknown): string {
  return JSON.stringify(value, null, 2)
    .replace(/^( *)"([A-Za-z_]\w*)":/gm, '$1$2:')
    .replace(/"([^"'\\]*)"(?=,?$)/gm, "'$1'")
    .replace(/\n/g, '\n  ');
}

/** Headers that a sample sends where the operation takes them. */
const SAMPLE_HEADERS = { 'Idempotency-Key': EXAMPLE_KEY };
/** Query parameters that a sample sends where the operation takes them. */
const SAMPLE_QUERY = { limit: '2' };

const parameter = z.union([
  z.object({ $ref: z.string() }),
  z.object({ in: z.string(), name: z.string(), example: z.unknown().optional() }),
]);

const operation = z.object({
  parameters: z.array(parameter).default([]),
  security: z.array(z.unknown()).default([]),
  requestBody: z
    .object({
      content: z.object({
        'application/json': z.object({
          examples: z.record(z.string(), z.object({ value: z.unknown() })),
        }),
      }),
    })
    .optional(),
});

/** Returns the sample request of an operation of the document. `path` is a template. */
function sampledRequestOf(method: string, path: string, described: unknown): SampledRequest {
  const { parameters, security, requestBody } = operation.parse(described);
  const names = parameters.map((each) =>
    '$ref' in each ? each.$ref.slice(each.$ref.lastIndexOf('/') + 1) : each.name,
  );
  const taken = (values: Record<string, string>) =>
    Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)));
  const query = new URLSearchParams(taken(SAMPLE_QUERY)).toString();
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const found = parameters.find((each) => 'name' in each && each.name === name);
    return encodeURIComponent(String(found && 'example' in found ? found.example : name));
  });
  const [example] = Object.values(requestBody?.content['application/json'].examples ?? {});
  return {
    method: method.toUpperCase(),
    path: query === '' ? filled : `${filled}?${query}`,
    headers: taken(SAMPLE_HEADERS),
    needsKey: security.length > 0,
    body: example?.value,
  };
}

/** One chapter per capability. Its tag names its kind of reader. */
const CHAPTERS = [propertyChapter, eventChapter, healthChapter];

const DESCRIPTION = `
Domain events accepted once, and a public feed of property listings.

**Credentials.** Send \`x-api-key\`. The property feed also accepts an \`Authorization: Bearer\` token. Health needs no credentials.

**Errors.** Every error has the same body: branch on \`error.code\`. An unknown path is a 404 \`resource_missing\`. A method that a path does not have is a 405 \`method_not_allowed\` with an \`Allow\` header. HEAD answers as GET does, without a body.

**Limits.** A client address may send 100 requests in ${WINDOW_SECONDS} seconds, and besides these 200 requests that send events, unless this deployment has other limits. Every answer tells the limit and the number of requests left. A 429 tells in \`Retry-After\` how many seconds to wait.

**Retries.** \`X-Should-Retry\` on an error says whether to send the same request again. Give each event an \`Idempotency-Key\`, so that a repeated request stores the event once.

**Sizes.** A text of a listing has up to 100,000 characters without NUL, and each of its lists up to 1,000 entries. The schemas do not repeat these bounds, because usual values are far smaller.

**Request ids.** Every answer carries \`X-Request-ID\`: the id that you sent, or a new one. Name it when you report a problem.
`.trim();

/** A larger bound only protects the storage: it says nothing about the usual size of a value. */
const MAX_USUAL_LENGTH = 2_000;
const MAX_USUAL_ITEMS = 100;

/** Any text without NUL. */
const ANY_TEXT = '^[^\\x00]*$';

/**
 * Writes patterns as every dialect reads them, and gives integers of at most 32 bits the format `int32`. Wider integers
 * get no format: `int64` is a bigint in some generated clients, which `JSON.stringify` refuses.
 */
const writePortably: ZodOpenApiOverride = ({ jsonSchema }) => {
  if (jsonSchema.pattern !== undefined) jsonSchema.pattern = portablePattern(jsonSchema.pattern);
  // Generators for OpenAPI 3.0 do not know `const`.
  if (typeof jsonSchema.const === 'string') jsonSchema.enum = [jsonSchema.const];
  if (jsonSchema.type !== 'integer') return;
  const { minimum = -Infinity, maximum = Infinity } = jsonSchema;
  if (minimum >= -(2 ** 31) && maximum < 2 ** 31) jsonSchema.format = 'int32';
  else delete jsonSchema.format;
};

/**
 * Leaves bounds that only protect the storage out of answers: a mock made from a bound of 100,000 characters is that
 * long. The introduction of the document states these bounds.
 */
const leaveStorageBoundsOut: ZodOpenApiOverride = ({ jsonSchema, io }) => {
  if (io !== 'output') return;
  if ((jsonSchema.maxLength ?? 0) > MAX_USUAL_LENGTH) delete jsonSchema.maxLength;
  if ((jsonSchema.maxItems ?? 0) > MAX_USUAL_ITEMS) delete jsonSchema.maxItems;
  if (jsonSchema.pattern === ANY_TEXT) delete jsonSchema.pattern;
};

/** Builds the document. Every call returns a new one. */
export function createOpenApiDocument() {
  const document = createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Events and property feed',
        version: VERSION,
        description: DESCRIPTION,
        license: { name: 'MIT', identifier: 'MIT' },
        contact: { name: 'The maintainers of this service' },
      },
      servers: [
        {
          url: '/',
          description: 'The service that serves this document, local or production.',
          'x-internal': false,
        },
      ],
      tags: CHAPTERS.map(({ tag }) => tag),
      paths: Object.assign({}, ...CHAPTERS.map(({ paths }) => paths)),
      components: { securitySchemes },
    },
    {
      override: (context) => {
        writePortably(context);
        leaveStorageBoundsOut(context);
      },
    },
  );
  for (const [path, methods] of Object.entries(document.paths ?? {})) {
    for (const [method, operation] of Object.entries(methods)) {
      const request = sampledRequestOf(method, path, operation);
      Object.assign(operation, { 'x-codeSamples': codeSamplesOf(request) });
    }
  }
  return document;
}
