/** `npm run -s openapi`: prints the OpenAPI document. */

import { Converter } from '@apiture/openapi-down-convert';
import { Option } from '@commander-js/extra-typings';
import { createOpenApiDocument } from '../../src/openapi/api-document.ts';
import { type Command, declare, readArguments, runCommand } from '../command-line/command.ts';

const program = declare('-s openapi')
  .description(`Print the OpenAPI document of the working copy as JSON. Prints only the document.

Changes: nothing.
Exit codes: 0 the document is printed, 2 invalid arguments.
Example: npm run -s openapi > docs/openapi.json`)
  .addOption(
    new Option('--version <version>', '3.0: the form for generators that do not know OpenAPI 3.1')
      .choices(['3.0', '3.1'])
      .default('3.1'),
  );

type Schema = {
  type?: string | string[];
  enum?: string[];
  anyOf?: { $ref?: string }[];
  description?: string;
  examples?: unknown[];
};
type Shape = { components: { schemas: Record<string, Schema> } };

export const command: Command<string> = {
  program,
  parse: (args) => readArguments(program, args).values.version,
  run: printDocument,
};

function printDocument(version: string): number {
  const document: Shape = JSON.parse(JSON.stringify(createOpenApiDocument()));
  const older = () => new Converter(withoutUnions(document), { allOfTransform: true }).convert();
  console.log(JSON.stringify(version === '3.0' ? older() : document, null, 2));
  return 0;
}

/**
 * Writes a schema that may be null without `anyOf`: OpenAPI 3.0 has no nullable references, so each
 * is replaced by a copy. The converter takes `type: [T, "null"]`. Of a schema with more types only
 * its words stay, because 3.0 has no other form that generators read.
 */
function withoutUnions(document: Shape): Shape {
  const { schemas } = document.components;
  const copy = (_: string, value: Schema | null): unknown => {
    if (Array.isArray(value?.type) && value.type.length > 2) {
      return { description: value.description, examples: value.examples };
    }
    const name = value?.anyOf?.[0]?.$ref?.split('/').at(-1);
    const schema = schemas[name ?? ''];
    if (schema === undefined) return value;
    const { type, enum: values } = schema;
    const nullable = { type: [type, 'null'], ...(values && { enum: [...values, null] }) };
    const whole = { ...schema, ...value, ...nullable, anyOf: undefined };
    return JSON.parse(JSON.stringify(whole), copy);
  };
  return JSON.parse(JSON.stringify(document), copy);
}

if (import.meta.main) await runCommand(command);
