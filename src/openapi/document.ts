/** Writes the OpenAPI document from the chapters of all capabilities. */

import type * as z from 'zod';
import { createDocument, type ZodOpenApiObject, type ZodOpenApiOverride } from 'zod-openapi';
import { ERROR_CODES, type ErrorCode } from '../http/errors.ts';
import { RELEASE } from '../release.ts';
import { type Chapter, writePaths } from './chapter.ts';
import { ERROR_MEANINGS } from './error-resource.ts';
import { describeCommonHeaders } from './headers.ts';
import { portablePattern } from './portable-pattern.ts';

/**
 * Makes patterns portable, and sets the format of numbers: `double`, `int32`, or none for larger
 * integers. Some generated clients read `int64` as a bigint, for which `JSON.stringify` throws.
 */
const writePortably: ZodOpenApiOverride = ({ jsonSchema }) => {
  if (jsonSchema.pattern !== undefined) jsonSchema.pattern = portablePattern(jsonSchema.pattern);
  // Generators for OpenAPI 3.0 do not know `const`.
  if (typeof jsonSchema.const === 'string') jsonSchema.enum = [jsonSchema.const];
  if (jsonSchema.type === 'number') jsonSchema.format = 'double';
  if (jsonSchema.type !== 'integer') return;
  const { minimum = -Infinity, maximum = Infinity } = jsonSchema;
  if (minimum >= -(2 ** 31) && maximum < 2 ** 31) jsonSchema.format = 'int32';
  else delete jsonSchema.format;
};

/** Allows unknown fields in responses, because a later release may add fields. */
const openResponses: ZodOpenApiOverride = ({ jsonSchema, io }) => {
  if (io !== 'output' || jsonSchema.additionalProperties !== false) return;
  delete jsonSchema.additionalProperties;
  // zod repeats the keyword next to the reference of a field that has a description.
  for (const field of Object.values(jsonSchema.properties ?? {})) {
    if (typeof field === 'object' && field.$ref) delete field.additionalProperties;
  }
};

/**
 * Removes storage bounds from responses, because mock servers would fill them. The description of
 * `Property` states the bounds.
 */
const omitStorageBounds: ZodOpenApiOverride = ({ jsonSchema, io }) => {
  if (io !== 'output') return;
  if ((jsonSchema.maxLength ?? 0) > 2_000) delete jsonSchema.maxLength;
  if ((jsonSchema.maxItems ?? 0) > 100) delete jsonSchema.maxItems;
  // The pattern of text without NUL.
  if (jsonSchema.pattern === '^[^\\x00]*$') delete jsonSchema.pattern;
};

/**
 * Writes a union of types as one list, e.g. `type: [T, "null"]`, because some generators skip `anyOf`
 * with null, which OpenAPI 3.0 does not have. The meaning stays the same, because a keyword applies
 * only to values of its own type. Only unions of objects stay in `anyOf`.
 */
const writeTypes: ZodOpenApiOverride = (context) => {
  const { jsonSchema } = context;
  const { anyOf = [], ...otherKeywords } = jsonSchema;
  const objects = anyOf.flatMap(getObjectForms);
  const members = anyOf.map(
    (member): JsonSchema =>
      getObjectForms(member).length > 0 ? { type: 'object', additionalProperties: {} } : member,
  );
  const types = members.map(({ type }) => type);
  if (types.length === 0 || !types.every((type) => typeof type === 'string')) return;
  if (new Set(types).size < types.length) return;
  for (const member of members) {
    // A schema that several fields share may come after them, so it is not written yet.
    const inner = { ...context, jsonSchema: member };
    writePortably(inner);
    omitStorageBounds(inner);
    Object.assign(jsonSchema, member);
    if (member.enum) jsonSchema.enum = [...member.enum, null];
  }
  Object.assign(jsonSchema, otherKeywords, { type: types });
  // Generators would apply the format of a number to strings too.
  if (types.filter((type) => type !== 'null').length > 1) delete jsonSchema.format;
  delete jsonSchema.anyOf;
  const others = types.filter((type) => type !== 'object');
  if (objects.length > 0) jsonSchema.anyOf = [{ type: others }, ...objects];
};

type JsonSchema = Parameters<ZodOpenApiOverride>[0]['jsonSchema'];

/** Returns the members of a union if all of them are objects; otherwise an empty list. */
function getObjectForms({ anyOf = [] }: JsonSchema): JsonSchema[] {
  return anyOf.every(({ type }) => type === 'object') ? anyOf : [];
}

type Contents = {
  /** Markdown, followed by a table of all errors. */
  introduction: string;
  chapters: readonly Chapter[];
  /** Length of the rate limit's window, in seconds. */
  windowSeconds: number;
  securitySchemes: NonNullable<ZodOpenApiObject['components']>['securitySchemes'];
  /** Schemas that operations mention only in descriptions. */
  schemas: Readonly<Record<string, z.ZodType>>;
};

/** Form of the document. In the `strict` form, which tests use, responses must not have unknown fields. */
export type DocumentForm = 'open' | 'strict';

export function writeDocument(
  { introduction, chapters, windowSeconds, securitySchemes, schemas }: Contents,
  form: DocumentForm,
) {
  const errors = Object.entries(ERROR_CODES).map(
    ([code, { status }]) => `| ${status} \`${code}\` | ${ERROR_MEANINGS[code as ErrorCode]} |`,
  );
  const table = ['| error | meaning |', '|---|---|', ...errors].join('\n');
  const document = createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Events and property feed',
        version: RELEASE,
        description: `${introduction}\n\n${table}`,
        license: { name: 'MIT', url: 'https://spdx.org/licenses/MIT.html' },
        contact: { name: 'The maintainers of this service' },
      },
      servers: [
        { url: '/', description: 'The service that serves this document, local or production.' },
      ],
      tags: chapters.map(({ tag }) => tag),
      paths: writePaths(chapters, describeCommonHeaders(windowSeconds)),
      components: { schemas, ...(securitySchemes && { securitySchemes }) },
    },
    {
      override: (context) => {
        writePortably(context);
        omitStorageBounds(context);
        writeTypes(context);
        if (form === 'open') openResponses(context);
      },
    },
  );
  for (const operations of Object.values(document.paths ?? {})) {
    for (const { parameters = [] } of Object.values(operations)) {
      // The parameter itself has the description.
      for (const { schema } of parameters) delete schema?.description;
    }
  }
  return document;
}
