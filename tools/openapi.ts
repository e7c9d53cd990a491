/** `npm run -s openapi`: prints the OpenAPI document, and nothing else. */

import { createOpenApiDocument } from '../src/openapi/document.ts';
import { requireKnownEnvironment } from './command-line/wrangler-config.ts';

requireKnownEnvironment();
console.log(JSON.stringify(createOpenApiDocument(), null, 2));
