/** `npm run -s openapi`: prints the OpenAPI document. */

import { createOpenApiDocument } from '../src/api-document.ts';
import { type Command, readArguments, runCommand } from './command-line/command.ts';

const USAGE = `Usage: npm run -s openapi

Prints the OpenAPI document of the working copy as JSON, and nothing else.

Changes: nothing.
Exit codes: 0 the document is printed, 2 invalid arguments.
Example: npm run -s openapi > docs/openapi.json`;

export const command: Command<unknown> = {
  usage: USAGE,
  parse: (args) => readArguments('openapi', args, {}),
  run: () => {
    console.log(JSON.stringify(createOpenApiDocument(), null, 2));
    return 0;
  },
};

if (import.meta.main) await runCommand(command);
