/** `npm run -s openapi`: prints the OpenAPI document. */

import { Converter } from '@apiture/openapi-down-convert';
import { Option } from '@commander-js/extra-typings';
import { createOpenApiDocument } from '../../src/openapi/api-document.ts';
import { type Command, declare, readArguments, runCommand } from '../command-line/command.ts';

const program = declare('-s openapi')
  .description(`Print the OpenAPI document of the working copy as JSON.

Changes: nothing.
Exit codes: 0 the document is printed, 2 invalid arguments.
Example: npm run -s openapi > docs/openapi.json`)
  .addOption(
    new Option(
      '--version <version>',
      'version of OpenAPI; 3.0 is for generators that do not support 3.1',
    )
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
  const convert = () => new Converter(removeUnions(document), { allOfTransform: true }).convert();
  console.log(JSON.stringify(version === '3.0' ? convert() : document, null, 2));
  return 0;
}

/**
 * Replaces the unions that the OpenAPI 3.0 converter does not support. OpenAPI 3.0 has no
 * nullable references, so each `anyOf` of a reference and null becomes a copy of the referenced
 * schema with `type: [T, "null"]`. A schema with more than two types keeps only its description and
 * examples, because generators for 3.0 understand no other form of it.
 */
function removeUnions(document: Shape): Shape {
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
    const merged = { ...schema, ...value, ...nullable, anyOf: undefined };
    return JSON.parse(JSON.stringify(merged), copy);
  };
  return JSON.parse(JSON.stringify(document), copy);
}

if (import.meta.main) await runCommand(command);
