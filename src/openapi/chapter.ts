/**
 * Writes the operations of a capability for the OpenAPI document. A capability states the parts of an operation that
 * are its own. This file adds the parts that every operation shares: headers, the request id, 429 and 500. Only the
 * document and the tests import it.
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
import { queryProblems } from '../http/query.ts';
import { errorBody } from '../http/render-error.ts';
import type { listOf } from '../openapi/list-resource.ts';
import { rateLimitExceeded } from '../rate-limit/middleware.ts';
import { errorResource, requestIdText } from './error-resource.ts';
import { commonHeaders, errorHeaders, headersOfErrors, noStore } from './headers.ts';

/** The credentials that open an operation, and the errors of requests without them. */
export type Access = {
  /** Each entry is a sufficient credential. An empty list: no credential is needed. */
  security: Record<string, never[]>[];
  /** The scope that an API key needs. OpenAPI has scopes for OAuth only, so the description and `x-scope` name it. */
  scope?: string;
  refusals: readonly Refusal[];
};

/** An error status of an operation: its meaning here, and every error of this status that the service throws. */
type Refusal = { description: string; errors: readonly [ApiError, ...ApiError[]] };

/** Name → example: one line about it, and its value. */
type Examples = Record<string, { summary: string; value: unknown }>;

/** An answer of success. Without `headers` no cache may hold the answer, and without `schema` it has no body. */
type Answer = {
  description: string;
  headers?: Record<string, z.ZodType>;
  schema?: z.ZodType;
  examples?: Examples;
};

/** An operation, as its capability states it. */
type Operation = {
  operationId: string;
  summary: string;
  description: string;
  access: Access;
  /** The path of the request whose refusals the examples show; the operation's own when left out. */
  examplePath?: string;
  path?: z.ZodObject;
  query?: z.ZodObject;
  headers?: Record<string, z.ZodType>;
  body?: { description: string; schema: z.ZodType; examples: Examples };
  answers: Record<number, Answer>;
  refusals?: readonly Refusal[];
  /** Answers that are neither an `Answer` nor a `Refusal`. */
  otherAnswers?: Record<number, ZodOpenApiResponseObject>;
};

/** The operations of one capability, by path and method, under a tag that names their reader. */
type Chapter = { tag: { name: string; description: string }; paths: ZodOpenApiPathsObject };

/** The request of an example. */
type ExampleRequest = { method: string; path: string };

const EXAMPLE_REQUEST_ID = 'req_0f4c1d9a6b7e4c2f8a35d1e07b92c648';
export const EXAMPLE_TIME = '2027-01-15T09:30:00.000Z';
export const EXAMPLE_KEY = 'bk_1001-created';

const requestId = requestIdText.optional().meta({
  description:
    'Your own id for this request, 1 to 200 characters without control characters. The answer and the log repeat it.',
  param: { id: 'X-Request-ID' },
});

/** The errors that any request may meet. */
const COMMON_REFUSALS: readonly Refusal[] = [
  {
    description: 'Too many requests from this address: wait for `Retry-After` seconds.',
    errors: [rateLimitExceeded(42_000, 100), rateLimitExceeded(1_000)],
  },
  {
    description:
      'The service failed: retry with growing pauses, or after `Retry-After` seconds if the answer has this header.',
    errors: [internalError(), internalError(undefined, 3)],
  },
];

/** Writes the operations of a capability, by path and method. */
export function chapter(
  tag: Chapter['tag'],
  operations: Record<string, { get?: Operation; post?: Operation }>,
): Chapter {
  const paths = Object.entries(operations).map(([path, methods]) => [
    path,
    Object.fromEntries(
      Object.entries(methods).map(([method, stated]) => [
        method,
        { tags: [tag.name], ...operationOf(stated, { method: method.toUpperCase(), path }) },
      ]),
    ),
  ]);
  return { tag, paths: Object.fromEntries(paths) };
}

function operationOf(
  stated: Operation,
  { method, path }: ExampleRequest,
): ZodOpenApiOperationObject {
  const { access, query, headers, body, refusals = [] } = stated;
  const example = { method, path: stated.examplePath ?? path };
  return {
    operationId: stated.operationId,
    summary: stated.summary,
    description: access.scope
      ? `${stated.description} An API key needs the scope \`${access.scope}\`.`
      : stated.description,
    security: access.security,
    ...(access.scope && { 'x-scope': access.scope }),
    requestParams: {
      ...(stated.path && { path: stated.path }),
      ...(query && { query }),
      header: z.object({ 'X-Request-ID': requestId, ...headers }),
    },
    ...(body && {
      requestBody: {
        required: true,
        description: body.description,
        content: json(body.schema, body.examples),
      },
    }),
    responses: {
      ...mapValues(stated.answers, answerResponse),
      ...Object.fromEntries(
        [...refusals, ...access.refusals, ...COMMON_REFUSALS].map((refusal) => [
          refusal.errors[0].status,
          refusalResponse(refusal, example),
        ]),
      ),
      ...stated.otherAnswers,
    },
  };
}

/** The envelope of an error, as an example shows it. */
export function errorExample(error: ApiError, request: ExampleRequest) {
  return errorBody(error, { ...request, id: EXAMPLE_REQUEST_ID, answeredAt: EXAMPLE_TIME });
}

/** An example of a page, as the service writes it. `more` are further fields of the list. */
export function pageExample(
  items: readonly unknown[],
  next: string | null,
  more?: Readonly<Record<string, string>>,
): z.output<ReturnType<typeof listOf>> {
  const documents = items.map((item) => JSON.stringify(item));
  return JSON.parse(listJson(documents, next, more));
}

/** The refusal of a query. */
export function badParameter(...errors: Refusal['errors']): Refusal {
  return { description: 'A parameter is not valid.', errors };
}

/** Returns the error of a query: `refusalOfQuery(listParameters, { limit: ['101'] })`. */
export function refusalOfQuery(query: z.ZodObject, sent: Record<string, string[]>): ApiError {
  const [first, ...rest] = queryProblems(query, sent);
  if (first === undefined) throw new Error('the example of a refusal is valid');
  return validationError([first, ...rest]);
}

/** A JSON body: its schema and examples. */
export function json(schema: z.ZodType, examples: Examples) {
  return {
    'application/json': { schema, examples } satisfies ZodOpenApiMediaTypeObject,
  };
}

function answerResponse(answer: Answer): ZodOpenApiResponseObject {
  const { description, headers = noStore, schema, examples = {} } = answer;
  return {
    description,
    headers: z.object({ ...commonHeaders, ...headers }),
    ...(schema && { content: json(schema, examples) }),
  };
}

/** Shows each error as an example, named after its code. A further error of the same code has a number too. */
function refusalResponse(
  { description, errors }: Refusal,
  request: ExampleRequest,
): ZodOpenApiResponseObject {
  const examples = errors.map((error, index) => {
    const isFirst = errors.findIndex(({ code }) => code === error.code) === index;
    const name = isFirst ? error.code : `${error.code}_${index + 1}`;
    return [name, { summary: error.message, value: errorExample(error, request) }];
  });
  return {
    description,
    headers: z.object({ ...errorHeaders, ...headersOfErrors(errors) }),
    content: json(errorResource, Object.fromEntries(examples)),
  };
}

function mapValues<Value, Mapped>(record: Record<number, Value>, map: (value: Value) => Mapped) {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
