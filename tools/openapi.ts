/** `npm run -s openapi`: prints the OpenAPI document, and nothing else. */

import { createOpenApiDocument } from '../src/openapi/document.ts';
import { type Command, readArguments, runCommand } from './command-line/command.ts';

export const command: Command<unknown> = {
  usage: 'Usage: npm run -s openapi\n\nPrints the OpenAPI document, and nothing else.',
  parse: (args) => readArguments('openapi', args, {}),
  run: () => {
    console.log(JSON.stringify(createOpenApiDocument(), null, 2));
    return 0;
  },
};

if (import.meta.main) await runCommand(command);
