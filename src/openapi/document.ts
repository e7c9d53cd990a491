/**
 * The OpenAPI document, put together from the operations of each capability. The schemas in it are
 * those that validate requests, and with which the tests read answers.
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

/** The parts of an operation that a sample shows. */
type SampledRequest = {
  /** Is in upper case. */
  method: string;
  /** Has its parameters filled in, and a query. */
  path: string;
  /** The headers besides those of the credentials and the body. */
  headers: Readonly<Record<string, string>>;
  needsKey: boolean;
  body?: unknown;
};

/** Writes the samples as `x-codeSamples` holds them. `API_URL` and `API_KEY` stand in the environment. */
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
    // curl sends a GET without data, and a POST with it.
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

/** Returns the request of an operation of the document. `path` is a template. */
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

/** One for each capability, and so for each kind of reader, whom its tag names. */
const CHAPTERS = [propertyChapter, eventChapter, healthChapter];

const DESCRIPTION = `
Domain events accepted once, and a public feed of property listings.

**Credentials.** Send \`x-api-key\`, or on the property feed an \`Authorization: Bearer\` token instead. Health needs none.

**Errors.** Every answer other than success has the same envelope: branch on \`error.code\`. A path that is not listed here answers 404 \`resource_missing\`, a method that a path does not have 405 \`method_not_allowed\` with an \`Allow\` header. HEAD answers as GET does, without a body.

**Limits.** Each client address has 100 requests in ${WINDOW_SECONDS} seconds, and 200 for the ingestion of events, unless this deployment has other limits. Every answer says which limit holds and what is left; a 429 says in \`Retry-After\` how long to wait.

**Retries.** \`X-Should-Retry\` on an error says whether to send the same request again. Give each event an \`Idempotency-Key\`, so that a repeated request stores it once.

**Sizes.** A text of a listing has up to 100,000 characters without NUL, and each of its lists up to 1,000 entries. The schemas do not repeat these bounds: they are no sizes to expect.

**Request ids.** Every answer carries \`X-Request-ID\`, yours if you send one. Name it when you report a problem.
`.trim();

/** Bounds beyond these keep a row or an answer in its limits, and say nothing of a value's form. */
const MAX_TOLD_LENGTH = 2_000;
const MAX_TOLD_ITEMS = 100;

/** Any text without NUL. */
const ANY_TEXT = '^[^\\x00]*$';

/**
 * Writes patterns as every dialect reads them, and names the width of integers that fit into 32 bits.
 * `int64` would make wider ones a bigint in some generated clients, which `JSON.stringify` refuses.
 */
const writePortably: ZodOpenApiOverride = ({ jsonSchema }) => {
  if (jsonSchema.pattern !== undefined) jsonSchema.pattern = portablePattern(jsonSchema.pattern);
  // Generators that began with OpenAPI 3.0 know no `const`.
  if (typeof jsonSchema.const === 'string') jsonSchema.enum = [jsonSchema.const];
  if (jsonSchema.type !== 'integer') return;
  const { minimum = -Infinity, maximum = Infinity } = jsonSchema;
  if (minimum >= -(2 ** 31) && maximum < 2 ** 31) jsonSchema.format = 'int32';
  else delete jsonSchema.format;
};

/**
 * Leaves out of answers what guards the storage of a value and is not its form: mocks made of a bound
 * of 100,000 characters are that long. The introduction tells these bounds in words.
 */
const leaveGuardsOut: ZodOpenApiOverride = ({ jsonSchema, io }) => {
  if (io !== 'output') return;
  if ((jsonSchema.maxLength ?? 0) > MAX_TOLD_LENGTH) delete jsonSchema.maxLength;
  if ((jsonSchema.maxItems ?? 0) > MAX_TOLD_ITEMS) delete jsonSchema.maxItems;
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
        leaveGuardsOut(context);
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
