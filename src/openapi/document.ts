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

const DESCRIPTION = `
Domain events accepted once, and a public feed of property listings.

**Credentials.** Send \`x-api-key\`. The property feed also accepts an \`Authorization: Bearer\` token. Health needs no credentials.

**Errors.** Every error has the same body: branch on \`error.code\`. An unknown path is a 404 \`resource_missing\`. A method that a path does not have is a 405 \`method_not_allowed\` with an \`Allow\` header. HEAD answers as GET does, without a body.

**Limits.** A client address may send 100 requests in ${WINDOW_SECONDS} seconds, and besides these 200 requests that send events, unless this deployment has other limits. Every answer tells the limit and the number of requests left. A 429 tells in \`Retry-After\` how many seconds to wait.

**Retries.** \`X-Should-Retry\` on an error says whether to send the same request again. Give each event an \`Idempotency-Key\`, so that a repeated request stores the event once.

**Sizes.** A text of a listing has up to 100,000 characters without NUL, and each of its lists up to 1,000 entries. The schemas do not repeat these bounds, because usual values are far smaller.

**Request ids.** Every answer carries \`X-Request-ID\`: the id that you sent, or a new one. Name it when you report a problem.
`.trim();

/** Larger bounds only protect the storage, and say nothing about usual values. */
const MAX_USUAL_LENGTH = 2_000;
const MAX_USUAL_ITEMS = 100;

const TEXT_WITHOUT_NUL = '^[^\\x00]*$';

/**
 * Writes portable patterns, and the format of integers: `int32`, or none for wider ones. `int64` is a bigint in some
 * generated clients, and `JSON.stringify` throws for a bigint.
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

/** Omits storage bounds from responses: a mock would be as long as its bound. The introduction states them. */
const omitStorageBounds: ZodOpenApiOverride = ({ jsonSchema, io }) => {
  if (io !== 'output') return;
  if ((jsonSchema.maxLength ?? 0) > MAX_USUAL_LENGTH) delete jsonSchema.maxLength;
  if ((jsonSchema.maxItems ?? 0) > MAX_USUAL_ITEMS) delete jsonSchema.maxItems;
  if (jsonSchema.pattern === TEXT_WITHOUT_NUL) delete jsonSchema.pattern;
};

export function createOpenApiDocument() {
  return createDocument(
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
        omitStorageBounds(context);
      },
    },
  );
}
