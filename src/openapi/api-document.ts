/** Creates the OpenAPI document of the API. Only this file and app.ts import all capabilities. */

import { securitySchemes } from '../auth/openapi/access.ts';
import { eventChapter } from '../events/openapi/chapter.ts';
import { healthChapter } from '../health/openapi/chapter.ts';
import { propertyChapter } from '../properties/openapi/chapter.ts';
import { localeName } from '../properties/openapi/property.ts';
import { WINDOW_SECONDS } from '../rate-limit/counter-arithmetic.ts';
import { type DocumentForm, writeDocument } from './document.ts';

const CHAPTERS = [propertyChapter, eventChapter, healthChapter];

const INTRODUCTION = `
A public feed of property listings, and domain events that are each stored once.

**Credentials.** Send \`x-api-key\`. The feed also accepts an \`Authorization: Bearer\` token. Health needs no credentials.

**Errors.** Every error has the same body: branch on \`error.code\`. \`X-Should-Retry\` is \`true\` if the same request can succeed later, and \`Retry-After\` is the number of seconds to wait. Send each event with an \`Idempotency-Key\`, so that a repeated request stores it once. An unknown path is a 404, and another method is a 405 with \`Allow\`. HEAD is GET without a body.

**Limits.** A client address may send 100 requests in ${WINDOW_SECONDS} seconds, and in addition 200 requests that send events, unless this deployment has other limits or the key has its own limit. \`X-RateLimit-Remaining\` is the number of requests left.

**Other headers.** No cache may store a response (\`Cache-Control: no-store\`) unless the operation states it. Every response has the security headers \`X-Content-Type-Options\`, \`X-Frame-Options\`, \`Strict-Transport-Security\`, \`Referrer-Policy\`, \`Content-Security-Policy\` and \`Cross-Origin-Resource-Policy\`. \`Server-Timing\` has the milliseconds of the calls that the service waited for. Origins of \`CORS_ORIGINS\` get the headers of CORS, and \`Vary\`.
`.trim();

export function createOpenApiDocument(form: DocumentForm = 'open') {
  return writeDocument(
    {
      introduction: INTRODUCTION,
      chapters: CHAPTERS,
      windowSeconds: WINDOW_SECONDS,
      securitySchemes,
      schemas: { Locale: localeName },
    },
    form,
  );
}
