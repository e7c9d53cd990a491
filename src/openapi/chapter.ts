/**
 * Writes the operations of each capability for the OpenAPI document. Adds the parts that all operations
 * share: the common headers, the request id, and the errors 429 and 500.
 */

import * as z from 'zod';
import type {
  ZodOpenApiOperationObject,
  ZodOpenApiPathsObject,
  ZodOpenApiResponseObject,
} from 'zod-openapi';
import { ApiError, ERROR_CODES, type ErrorCode } from '../http/errors.ts';
import { writePage } from '../http/paging.ts';
import { createErrorBody } from '../http/render-error.ts';
import { ERROR_MEANINGS, errorResource, requestIdText } from './error-resource.ts';
import { getErrorHeaders } from './headers.ts';
import type { makeListResource } from './list-resource.ts';

/** The credentials that an operation accepts, and the errors of requests without them. */
export type Access = {
  /** Alternative credentials. An empty list means that no credentials are needed. */
  security: Record<string, never[]>[];
  /** Scope that an API key needs. It is written as `x-scope`, because OpenAPI has scopes only for OAuth. */
  scope?: string;
  errors: readonly ErrorCode[];
};

type Examples = Record<string, { summary: string; value: unknown }>;

/** `schema` is undefined for a response without a body. */
type SuccessResponse = {
  description: string;
  headers?: Record<string, z.ZodType>;
  schema?: z.ZodType;
  examples?: Examples;
};

type Operation = {
  operationId: string;
  summary: string;
  description: string;
  access: Access;
  path?: z.ZodObject;
  query?: z.ZodObject;
  headers?: Record<string, z.ZodType>;
  body?: { description: string; schema: z.ZodType; examples: Examples };
  responses: Record<number, SuccessResponse>;
  errors?: readonly ErrorCode[];
};

/** The operations of one capability, under a tag that names their audience. */
export type Chapter = {
  tag: { name: string; description: string };
  /** The operations by method and path, e.g. `GET /api/v1/events`. */
  operations: Readonly<Record<string, Operation>>;
};

export const EXAMPLE_TIME = '2027-01-15T09:30:00.000Z';

const requestId = requestIdText.optional().meta({
  description:
    'Your own id for this request, 1 to 200 characters without control characters. The response and the log repeat it.',
  param: { id: 'X-Request-ID' },
});

/** Errors that every operation may have. */
const COMMON_ERRORS = ['rate_limit_exceeded', 'internal_error'] as const;

export function defineChapter(tag: Chapter['tag'], operations: Chapter['operations']): Chapter {
  return { tag, operations };
}

/** Writes the operations of all chapters, with the headers that every response has. */
export function writePaths(
  chapters: readonly Chapter[],
  commonHeaders: Readonly<Record<string, z.ZodType>>,
): ZodOpenApiPathsObject {
  const paths: ZodOpenApiPathsObject = {};
  const responses = createResponseWriter(commonHeaders);
  for (const { tag, operations } of chapters) {
    for (const [route, operation] of Object.entries(operations)) {
      const [method = '', path = ''] = route.split(' ');
      const written = { tags: [tag.name], ...writeOperation(operation, responses) };
      paths[path] = { ...paths[path], [method.toLowerCase()]: written };
    }
  }
  return paths;
}

function writeOperation(
  operation: Operation,
  responseWriter: ReturnType<typeof createResponseWriter>,
): ZodOpenApiOperationObject {
  const { access, path, query, headers, body, errors = [] } = operation;
  const { operationId, summary, description, responses } = operation;
  const scopeSentence = access.scope ? ` An API key needs the scope \`${access.scope}\`.` : '';
  const codesByStatus = Map.groupBy(
    [...errors, ...access.errors, ...COMMON_ERRORS].toSorted(
      (a, b) => ERROR_CODES[a].status - ERROR_CODES[b].status,
    ),
    (code) => ERROR_CODES[code].status,
  );
  // Names each error once, for readers who see only the description.
  const names = [...codesByStatus].flatMap(([status, codes]) =>
    codes.map((code) => `\`${code}\` (${status})`),
  );
  return {
    operationId,
    summary,
    description: `${description}${scopeSentence}\n\nErrors: ${names.join(', ')}.`,
    security: access.security,
    ...(access.scope && { 'x-scope': access.scope }),
    requestParams: {
      ...(path && { path }),
      ...(query && { query }),
      header: z.object({ 'X-Request-ID': requestId, ...headers }),
    },
    ...(body && {
      requestBody: {
        required: true,
        description: body.description,
        content: jsonContent(body.schema, body.examples),
      },
    }),
    responses: Object.fromEntries([
      ...Object.entries(responses).map(([status, response]) => [
        status,
        responseWriter.writeSuccess(response),
      ]),
      ...[...codesByStatus].map(([status, codes]) => [status, responseWriter.writeError(codes)]),
    ]),
  };
}

function createResponseWriter(commonHeaders: Readonly<Record<string, z.ZodType>>) {
  /** Response components. Operations with the same errors for a status share one component. */
  const errorResponses = new Map<string, ZodOpenApiResponseObject>();
  return {
    writeSuccess(response: SuccessResponse): ZodOpenApiResponseObject {
      const { description, headers, schema, examples = {} } = response;
      return {
        description,
        headers: z.object({ ...commonHeaders, ...headers }),
        ...(schema && { content: jsonContent(schema, examples) }),
      };
    },
    writeError(codes: readonly ErrorCode[]): ZodOpenApiResponseObject {
      const id = codes.map(toPascalCase).join('Or');
      const [firstCode = 'internal_error'] = codes;
      const errorHeaders = getErrorHeaders(ERROR_CODES[firstCode].status);
      const examples = codes.map((code) => [code, { value: errorExample(code) }]);
      const response = errorResponses.get(id) ?? {
        id,
        description: codes.map((code) => ERROR_MEANINGS[code]).join(' '),
        headers: z.object({ ...commonHeaders, ...errorHeaders }),
        content: jsonContent(errorResource, Object.fromEntries(examples)),
      };
      errorResponses.set(id, response);
      return response;
    },
  };
}

/** @example toPascalCase('invalid_cursor') // 'InvalidCursor' */
function toPascalCase(code: string): string {
  return code.replaceAll(/(?:^|_)(\w)/g, (_, letter) => letter.toUpperCase());
}

function jsonContent(schema: z.ZodType, examples: Examples) {
  return { 'application/json': { schema, examples } };
}

export function errorExample(code: ErrorCode) {
  const request = { method: 'GET', path: '/api/v1/web/properties' };
  const id = 'req_0f4c1d9a6b7e4c2f8a35d1e07b92c648';
  const error = new ApiError(code, ERROR_MEANINGS[code]);
  return createErrorBody(error, { ...request, id, respondedAt: EXAMPLE_TIME });
}

/** Builds a page for an example. `more` contains additional fields of the list. */
export function pageExample(
  items: readonly unknown[],
  next: string | null,
  more?: Readonly<Record<string, string>>,
): z.output<ReturnType<typeof makeListResource>> {
  const documents = items.map((item) => JSON.stringify(item));
  return JSON.parse(writePage(documents, next, more));
}

/** Returns the examples of a list: a first page with one item, and a last page. */
export function listExamples(first: unknown, last: Examples[string]): Examples {
  return { page: { summary: 'The first page of limit=1', value: first }, last_page: last };
}
