/**
 * The OpenAPI document, made from the chapters of the capabilities. Its schemas are the schemas that validate requests,
 * and with which the tests parse answers.
 */

import { createDocument, type ZodOpenApiOverride } from 'zod-openapi';
import { securitySchemes } from '../auth/openapi/access.ts';
import { eventChapter } from '../events/openapi/chapter.ts';
import { healthChapter } from '../health/openapi/chapter.ts';
import { propertyChapter } from '../properties/openapi/chapter.ts';
import { WINDOW_SECONDS } from '../rate-limit/window.ts';
import { VERSION } from '../version.ts';
import { portablePattern } from './portable-pattern.ts';

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
        leaveStorageBoundsOut(context);
      },
    },
  );
}
