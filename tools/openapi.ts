/** `npm run -s openapi`: prints the OpenAPI document, and nothing else. */

import { createOpenApiDocument } from '../src/docs/document.ts';

console.log(JSON.stringify(createOpenApiDocument(), null, 2));
