/** The ingestion of an event, as the OpenAPI document describes it. */

import * as z from 'zod';
import type { ZodOpenApiOperationObject } from 'zod-openapi';
import { MAX_BODY_BYTES } from '../http/json-body.ts';
import {
  API_KEY_ADVICE,
  API_KEY_ONLY,
  anyTime,
  commonRequestHeaders,
  errorResponse,
  invalidField,
  unauthenticated,
} from '../http/openapi.ts';
import { commonHeaders, noStore } from '../http/openapi-headers.ts';
import {
  EXAMPLE_BODY,
  EXAMPLE_CANCELLATION,
  EXAMPLE_EVENT,
  EXAMPLE_KEY,
} from './openapi-examples.ts';
import { IDEMPOTENCY_KEY_HEADER, ingestRequest } from './request.ts';
import { event } from './resource.ts';
import { name } from './text.ts';

const INGEST = { method: 'POST', path: '/api/public/events/ingest' } as const;
const MAX_BODY_KIB = MAX_BODY_BYTES / 1_024;

const answerHeaders = { ...commonHeaders, 'Cache-Control': noStore };

export const ingestOperation = {
  operationId: 'ingestEvent',
  tags: ['Events'],
  summary: 'Record a domain event',
  description: `Stores the event once. With an \`Idempotency-Key\` the request can be repeated without harm: the same key and body give the same event, for ever; the same key with another body is refused for 24 hours. Bodies are the same when their JSON says the same, whatever order and white space. The event's id is the UUID version 5 of the key, so that it can be computed beforehand. The body has at most ${MAX_BODY_KIB} KiB and 64 levels.`,
  security: API_KEY_ONLY,
  requestParams: {
    header: z.object({
      ...commonRequestHeaders,
      [IDEMPOTENCY_KEY_HEADER]: name.optional().meta({
        description:
          'Your name for this event, 1 to 255 characters. Reuse it for a retry, and only for that.',
        param: { id: IDEMPOTENCY_KEY_HEADER },
      }),
    }),
  },
  requestBody: {
    required: true,
    description: 'The event.',
    content: {
      'application/json': {
        schema: ingestRequest,
        examples: {
          created: { summary: 'A booking was made', value: EXAMPLE_BODY },
          cancelled: { summary: 'It was cancelled', value: EXAMPLE_CANCELLATION },
        },
      },
    },
  },
  responses: {
    200: {
      description: 'The event had been accepted before: this is a repeat of its request.',
      headers: z.object({
        ...answerHeaders,
        'Idempotent-Replayed': z.literal('true').meta({
          description: 'This is the stored answer to the first request.',
          header: { id: 'Idempotent-Replayed' },
        }),
      }),
      content: {
        'application/json': {
          schema: event,
          examples: {
            repeat: {
              summary: `A repeat with the key ${EXAMPLE_KEY}`,
              value: { ...EXAMPLE_EVENT, status: 'idempotent' },
            },
          },
        },
      },
    },
    202: {
      description: 'The event is stored.',
      headers: z.object(answerHeaders),
      content: {
        'application/json': {
          schema: event,
          examples: {
            accepted: {
              summary: `The first request with the key ${EXAMPLE_KEY}`,
              value: EXAMPLE_EVENT,
            },
          },
        },
      },
    },
    400: errorResponse('The body, or the key, is not valid: nothing was stored.', INGEST, [
      invalidField({ path: 'payload.check_out', message: 'must be after check_in' }),
    ]),
    401: unauthenticated(INGEST, API_KEY_ADVICE),
    409: errorResponse(
      'The key was used for another body within 24 hours. `details` names up to 50 places that differ.',
      INGEST,
      [
        {
          code: 'idempotency_key_in_use',
          message:
            'This Idempotency-Key was used for another body. Send the first body again, or a new key.',
          param: IDEMPOTENCY_KEY_HEADER,
          details: [
            {
              path: 'payload.guests',
              message: 'differs from the request that holds the key',
            },
          ],
        },
      ],
    ),
    413: errorResponse(`The body has more than ${MAX_BODY_KIB} KiB.`, INGEST, [
      {
        code: 'payload_too_large',
        message: `The body may have at most ${MAX_BODY_BYTES} bytes.`,
      },
    ]),
    415: errorResponse('The body is not sent as plain `application/json`.', INGEST, [
      {
        code: 'unsupported_media_type',
        message: 'Send the body as Content-Type: application/json.',
      },
    ]),
    ...anyTime(INGEST),
  },
} satisfies ZodOpenApiOperationObject;
