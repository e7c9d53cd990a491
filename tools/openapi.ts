/** `npm run -s openapi`: prints the OpenAPI document. */

import { Converter } from '@apiture/openapi-down-convert';
import { createOpenApiDocument } from '../src/api-document.ts';
import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { UserError } from './command-line/user-error.ts';

const USAGE = `Usage: npm run -s openapi [-- --version 3.0]

Prints the OpenAPI document of the working copy as JSON, and nothing else.

  --version 3.0  the form for generators that do not know OpenAPI 3.1

Changes: nothing.
Exit codes: 0 the document is printed, 2 invalid arguments.
Example: npm run -s openapi > docs/openapi.json`;
const VERSIONS = ['3.0', '3.1'];

export const command: Command<string> = { usage: USAGE, parse: parseVersion, run: printDocument };

if (import.meta.main) await runCommand(command);

function parseVersion(args: string[]): string {
  const { version } = readArguments('openapi', args, {
    version: { type: 'string', default: '3.1' },
  }).values;
  if (VERSIONS.includes(version)) return version;
  throw new UserError(`--version ${version}: must be one of ${VERSIONS.join(', ')}`);
}

function printDocument(version: string): number {
  const document: object = JSON.parse(JSON.stringify(createOpenApiDocument()));
  const older = () => new Converter(document, { allOfTransform: true }).convert();
  console.log(JSON.stringify(version === '3.0' ? older() : document, null, 2));
  return 0;
}
