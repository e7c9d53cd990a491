/** The ingestion of an event, as the OpenAPI document describes it. */

import * as z from 'zod';
import { keyWith } from '../auth/openapi.ts';
import { bodyTooLarge, MAX_BODY_BYTES, notJson } from '../http/json-body.ts';
import { type Operation, refusalOf } from '../openapi/chapter.ts';
import { noStore } from '../openapi/headers.ts';
import { conflictDetails } from './difference.ts';
import {
  EXAMPLE_BODY,
  EXAMPLE_CANCELLATION,
  EXAMPLE_EVENT,
  EXAMPLE_KEY,
} from './openapi-examples.ts';
import { keyInUse } from './refusals.ts';
import { IDEMPOTENCY_KEY_HEADER, ingestRequest, parseIngestRequest } from './request.ts';
import { event } from './resource.ts';
import { WRITE_SCOPE } from './scopes.ts';
import { name } from './text.ts';

const MAX_BODY_KIB = MAX_BODY_BYTES / 1_024;

const headers = { 'Cache-Control': noStore };

/** The stay ends before it begins. */
const INVALID_BODY = {
  ...EXAMPLE_BODY,
  payload: { check_in: '2027-06-08', check_out: '2027-06-01' },
};

const OTHER_BODY = { ...EXAMPLE_BODY, payload: { ...EXAMPLE_BODY.payload, guests: 3 } };

export const ingestOperation: Operation = {
  operationId: 'ingestEvent',
  summary: 'Record a domain event',
  description: `Stores the event once. With an \`Idempotency-Key\` the request can be repeated without harm: the same key and body give the same event, for ever; the same key with another body is refused for 24 hours. Bodies are the same when their JSON says the same, whatever order and white space. The event's id is the UUID version 5 of the key, so that it can be computed beforehand. The body has at most ${MAX_BODY_KIB} KiB and 64 levels.`,
  access: keyWith(WRITE_SCOPE),
  headers: {
    [IDEMPOTENCY_KEY_HEADER]: name.optional().meta({
      description:
        'Your name for this event, 1 to 255 characters. Reuse it for a retry, and only for that.',
      param: { id: IDEMPOTENCY_KEY_HEADER },
    }),
  },
  body: {
    description: 'The event.',
    schema: ingestRequest,
    examples: {
      created: { summary: 'A booking was made', value: EXAMPLE_BODY },
      cancelled: { summary: 'It was cancelled', value: EXAMPLE_CANCELLATION },
    },
  },
  answers: {
    200: {
      description: 'The event had been accepted before: this is a repeat of its request.',
      headers: {
        ...headers,
        'Idempotent-Replayed': z.literal('true').meta({
          description: 'This is the stored answer to the first request.',
          header: { id: 'Idempotent-Replayed' },
        }),
      },
      content: {
        schema: event,
        examples: {
          repeat: {
            summary: `A repeat with the key ${EXAMPLE_KEY}`,
            value: { ...EXAMPLE_EVENT, status: 'idempotent' },
          },
        },
      },
    },
    202: {
      description: 'The event is stored.',
      headers,
      content: {
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
  refusals: [
    {
      description: 'The body, or the key, is not valid: nothing was stored.',
      errors: [refusalOf(parseIngestRequest(INVALID_BODY))],
    },
    {
      description:
        'The key was used for another body within 24 hours. `details` names up to 50 places that differ.',
      errors: [keyInUse(conflictDetails(EXAMPLE_BODY, OTHER_BODY, OTHER_BODY))],
    },
    { description: `The body has more than ${MAX_BODY_KIB} KiB.`, errors: [bodyTooLarge()] },
    { description: 'The body is not sent as plain `application/json`.', errors: [notJson()] },
  ],
};
