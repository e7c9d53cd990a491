/** The OpenAPI document, made from the chapters of the capabilities. */

import { createDocument, type ZodOpenApiOverride } from 'zod-openapi';
import { securitySchemes } from '../auth/openapi/access.ts';
import { eventChapter } from '../events/openapi/chapter.ts';
import { healthChapter } from '../health/openapi/chapter.ts';
import { propertyChapter } from '../properties/openapi/chapter.ts';
import { WINDOW_SECONDS } from '../rate-limit/window.ts';
import { VERSION } from '../version.ts';
import { portablePattern } from './portable-pattern.ts';

const CHAPTERS = [propertyChapter, eventChapter, healthChapter];

const INTRODUCTION = `
A public feed of property listings, and domain events that are each stored once.

**Credentials.** Send \`x-api-key\`. The feed also accepts an \`Authorization: Bearer\` token. Health needs no credentials.

**Errors.** Every error has the same body: branch on \`error.code\`. \`X-Should-Retry\` says whether to send the same request again, and \`Retry-After\` how many seconds to wait. Send each event with an \`Idempotency-Key\`: then a repeated request stores it once. An unknown path is a 404, and another method is a 405 with \`Allow\`. HEAD is GET without a body.

**Limits.** A client address may send 100 requests in ${WINDOW_SECONDS} seconds, and 200 further requests that send events, unless this deployment has other limits. \`X-RateLimit-Remaining\` is the number of requests left.
`.trim();

/** The errors that several operations have, as a table. */
const ERRORS = [
  '| error | meaning |',
  '|---|---|',
  ...new Set(CHAPTERS.flatMap(({ sharedErrors }) => sharedErrors).sort()),
].join('\n');

/**
 * Writes portable patterns, and the format of numbers: `double`, `int32`, or none for wider
 * integers. `int64` is a bigint in some generated clients, and `JSON.stringify` throws for a
 * bigint.
 */
const writePortably: ZodOpenApiOverride = ({ jsonSchema }) => {
  if (jsonSchema.pattern !== undefined) jsonSchema.pattern = portablePattern(jsonSchema.pattern);
  // Generators for OpenAPI 3.0 do not know `const`.
  if (typeof jsonSchema.const === 'string') jsonSchema.enum = [jsonSchema.const];
  if (jsonSchema.type === 'number') jsonSchema.format = 'double';
  if (jsonSchema.type !== 'integer') return;
  const { minimum = -Infinity, maximum = Infinity } = jsonSchema;
  if (minimum >= -(2 ** 31) && maximum < 2 ** 31) jsonSchema.format = 'int32';
  else delete jsonSchema.format;
};

/** Lets responses have unknown fields: a later release may add fields. */
const openResponses: ZodOpenApiOverride = ({ jsonSchema, io }) => {
  if (io !== 'output' || jsonSchema.additionalProperties !== false) return;
  delete jsonSchema.additionalProperties;
  // zod repeats the keyword beside the reference of a field with its own description.
  for (const field of Object.values(jsonSchema.properties ?? {})) {
    if (typeof field === 'object' && field.$ref) delete field.additionalProperties;
  }
};

/** Omits storage bounds from responses: a mock would be as long. `Property` names them. */
const omitStorageBounds: ZodOpenApiOverride = ({ jsonSchema, io }) => {
  if (io !== 'output') return;
  if ((jsonSchema.maxLength ?? 0) > 2_000) delete jsonSchema.maxLength;
  if ((jsonSchema.maxItems ?? 0) > 100) delete jsonSchema.maxItems;
  // A text without NUL.
  if (jsonSchema.pattern === '^[^\\x00]*$') delete jsonSchema.pattern;
};

const writeSchema: ZodOpenApiOverride = (context) => {
  writePortably(context);
  omitStorageBounds(context);
  writeNullable(context);
};

/** Writes `type: [T, "null"]`. Some generators skip `anyOf` with null, which 3.0 lacks. */
function writeNullable(context: Parameters<typeof writeSchema>[0]): void {
  const { jsonSchema } = context;
  const [schema, none] = jsonSchema.anyOf ?? [];
  if (none?.type !== 'null' || typeof schema?.type !== 'string') return;
  // A schema that several fields share may come after them.
  writeSchema({ ...context, jsonSchema: schema });
  const values = schema.enum && { enum: [...schema.enum, null] };
  Object.assign(jsonSchema, { ...schema, ...jsonSchema, type: [schema.type, 'null'], ...values });
  delete jsonSchema.anyOf;
}

/** Makes the document. In its `strict` form, for tests, responses have no unknown fields. */
export function createOpenApiDocument(form: 'open' | 'strict' = 'open') {
  return createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Events and property feed',
        version: VERSION,
        description: `${INTRODUCTION}\n\n${ERRORS}`,
        license: { name: 'MIT', url: 'https://spdx.org/licenses/MIT.html' },
        contact: { name: 'The maintainers of this service' },
      },
      servers: [
        { url: '/', description: 'The service that serves this document, local or production.' },
      ],
      tags: CHAPTERS.map(({ tag }) => tag),
      paths: Object.assign({}, ...CHAPTERS.map(({ paths }) => paths)),
      components: { securitySchemes },
    },
    {
      override: (context) => {
        writeSchema(context);
        if (form === 'open') openResponses(context);
      },
    },
  );
}
