/**
 * Writes the operations of a capability for the OpenAPI document. A capability states what only its
 * operation has. This file adds what every operation has: common headers, the request id, 429 and
 * 500.
 */

import * as z from 'zod';
import type {
  ZodOpenApiMediaTypeObject,
  ZodOpenApiOperationObject,
  ZodOpenApiPathsObject,
  ZodOpenApiResponseObject,
} from 'zod-openapi';
import { type ApiError, internalError, validationError } from '../http/errors.ts';
import { listJson } from '../http/paging.ts';
import { queryProblems, readQuery } from '../http/query.ts';
import { errorBody } from '../http/render-error.ts';
import { rateLimitExceeded } from '../rate-limit/middleware.ts';
import { IN_WORDS, isNonEmpty } from '../schema.ts';
import { errorResource, requestIdText } from './error-resource.ts';
import { commonHeaders, errorHeaders, headersOfErrors } from './headers.ts';
import type { listOf } from './list-resource.ts';

/** The credentials that an operation accepts, and the errors of requests without them. */
export type Access = {
  /** Each entry is a sufficient credential. An empty list: no credential is needed. */
  security: Record<string, never[]>[];
  /** The scope that an API key needs. OpenAPI has scopes for OAuth only, so `x-scope` names it. */
  scope?: string;
  errors: readonly ErrorResponse[];
};

/** An error status of an operation: its meaning, and every error that the code throws. */
type ErrorResponse = {
  description: string;
  errors: readonly [ApiError, ...ApiError[]];
  /** Names the response in the document, if several operations have it. */
  id?: string;
};

type Examples = Record<string, { summary: string; value: unknown }>;

/** Without `schema` it has no body. */
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
  errors?: readonly ErrorResponse[];
};

/** The operations of one capability, under a tag that names their reader. */
export type Chapter = {
  tag: { name: string; description: string };
  paths: ZodOpenApiPathsObject;
};

type ExampleRequest = { method: string; path: string };

export const EXAMPLE_TIME = '2027-01-15T09:30:00.000Z';

const requestId = requestIdText.optional().meta({
  description:
    'Your own id for this request, 1 to 200 characters without control characters. The response and the log repeat it.',
  param: { id: 'X-Request-ID' },
});

/** The errors that any operation may have. */
const COMMON_ERRORS: readonly ErrorResponse[] = [
  {
    id: 'TooManyRequests',
    description: 'Too many requests from this address: wait for `Retry-After` seconds.',
    errors: [rateLimitExceeded(42, 100), rateLimitExceeded(1)],
  },
  {
    id: 'InternalError',
    description:
      'The service failed: retry with growing pauses, or after `Retry-After` seconds if the response has this header.',
    errors: [internalError(), internalError(undefined, 3)],
  },
];

/** Writes the operations of a capability, by method and path: `GET /api/v1/events`. */
export function chapter(tag: Chapter['tag'], operations: Record<string, Operation>): Chapter {
  const paths: ZodOpenApiPathsObject = {};
  for (const [route, operation] of Object.entries(operations)) {
    const [method = '', path = ''] = route.split(' ');
    const written = { tags: [tag.name], ...writeOperation(operation, { method, path }) };
    paths[path] = { ...paths[path], [method.toLowerCase()]: written };
  }
  return { tag, paths };
}

function listErrors({ errors = [], access }: Operation): readonly ErrorResponse[] {
  return [...errors, ...access.errors, ...COMMON_ERRORS];
}

/** Names each error code of an operation once, for readers who see the description alone. */
function errorSentence(operation: Operation): string {
  const errors = listErrors(operation)
    .flatMap((response) => response.errors)
    .toSorted((a, b) => a.status - b.status);
  const codes = new Set(errors.map(({ status, code }) => `\`${code}\` (${status})`));
  return `Errors: ${[...codes].join(', ')}.`;
}

function writeOperation(operation: Operation, request: ExampleRequest): ZodOpenApiOperationObject {
  const { access, path, query, headers, body } = operation;
  const { operationId, summary, description, responses } = operation;
  const scopeSentence = access.scope ? ` An API key needs the scope \`${access.scope}\`.` : '';
  const example = { ...request, path: request.path.replace(/\{\w+\}/, 'no-such-thing') };
  return {
    operationId,
    summary,
    description: `${description}${scopeSentence}\n\n${errorSentence(operation)}`,
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
    responses: {
      ...Object.fromEntries(
        Object.entries(responses).map(([status, response]) => [status, successResponse(response)]),
      ),
      ...Object.fromEntries(
        listErrors(operation).map((response) => [
          response.errors[0].status,
          errorResponse(response, example),
        ]),
      ),
    },
  };
}

export function errorExample(error: ApiError, request: ExampleRequest) {
  const id = 'req_0f4c1d9a6b7e4c2f8a35d1e07b92c648';
  return errorBody(error, { ...request, id, respondedAt: EXAMPLE_TIME });
}

/** A page in an example. `more` are further fields of the list. */
export function pageExample(
  items: readonly unknown[],
  next: string | null,
  more?: Readonly<Record<string, string>>,
): z.output<ReturnType<typeof listOf>> {
  const documents = items.map((item) => JSON.stringify(item));
  return JSON.parse(listJson(documents, next, more));
}

/** The examples of a list: its plain first page, with one item, and a last page. */
export function listExamples(first: unknown, last: Examples[string]): Examples {
  return { page: { summary: 'The first page of limit=1', value: first }, last_page: last };
}

export function badParameter(...errors: ErrorResponse['errors']): ErrorResponse {
  return { description: 'A parameter is not valid.', errors };
}

/** Returns the error of an invalid query, e.g. `{ limit: '101' }`. */
export function queryError(query: z.ZodObject, sent: Record<string, string>): ApiError {
  const { error } = query.safeParse(sent, IN_WORDS);
  const problems = queryProblems(query, readQuery(sent, query), error?.issues ?? []);
  if (!isNonEmpty(problems)) throw new Error('the query of the example is valid');
  return validationError(problems);
}

function jsonContent(schema: z.ZodType, examples: Examples) {
  return { 'application/json': { schema, examples } satisfies ZodOpenApiMediaTypeObject };
}

function successResponse(response: SuccessResponse): ZodOpenApiResponseObject {
  const { description, headers, schema, examples = {} } = response;
  return {
    description,
    headers: z.object({ ...commonHeaders, ...headers }),
    ...(schema && { content: jsonContent(schema, examples) }),
  };
}

/** The responses with an `id`. Their examples have the request of the first operation. */
const sharedResponses = new Map<string, ZodOpenApiResponseObject>();

/** Names an example after the code of its error, with a number from the second one on. */
function errorResponse(
  { description, errors, id }: ErrorResponse,
  request: ExampleRequest,
): ZodOpenApiResponseObject {
  const shared = id && sharedResponses.get(id);
  if (shared) return shared;
  const examples = errors.map((error, index) => {
    const isFirst = errors.findIndex(({ code }) => code === error.code) === index;
    const name = isFirst ? error.code : `${error.code}_${index + 1}`;
    return [name, { value: errorExample(error, request) }];
  });
  const response = {
    ...(id && { id }),
    description,
    headers: z.object({ ...errorHeaders, ...headersOfErrors(errors) }),
    content: jsonContent(errorResource, Object.fromEntries(examples)),
  };
  if (id) sharedResponses.set(id, response);
  return response;
}
