/**
 * The OpenAPI document, put together from the operations of each capability. The schemas in it are
 * those that validate requests, and with which the tests read answers.
 */

import { createDocument, type ZodOpenApiOverride } from 'zod-openapi';
import { securitySchemes } from '../auth/openapi.ts';
import { eventChapter } from '../events/openapi.ts';
import { healthChapter } from '../health/openapi.ts';
import { propertyChapter } from '../properties/openapi.ts';
import { VERSION } from '../version.ts';

/** One for each capability, by the name of its tag. */
const CHAPTERS = [eventChapter, healthChapter, propertyChapter];

const DESCRIPTION = `
Domain events accepted once, and a public feed of property listings.

**Credentials.** Send \`x-api-key\`, or on the property feed an \`Authorization: Bearer\` token instead. Health needs none.

**Errors.** Every answer other than success has the same envelope: branch on \`error.code\`. A path that is not listed here answers 404 \`resource_missing\`, a method that a path does not have 405 \`method_not_allowed\` with an \`Allow\` header. HEAD answers as GET does, without a body.

**Limits.** Each client address has 100 requests in 60 seconds, and 200 a minute for the ingestion of events. Every answer says what is left; a 429 says in \`Retry-After\` how long to wait.

**Retries.** \`X-Should-Retry\` on an error says whether to send the same request again. Give each event an \`Idempotency-Key\`, so that a repeated request stores it once.

**Request ids.** Every answer carries \`X-Request-ID\`, yours if you send one. Name it when you report a problem.
`.trim();

/** Names the width of integers, which zod bounds and readers of OpenAPI want by name. */
const nameIntegerWidth: ZodOpenApiOverride = ({ jsonSchema }) => {
  if (jsonSchema.type !== 'integer') return;
  jsonSchema.format = (jsonSchema.maximum ?? Infinity) < 2 ** 31 ? 'int32' : 'int64';
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
    { override: nameIntegerWidth },
  );
}
