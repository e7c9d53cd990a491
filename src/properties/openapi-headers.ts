/** The headers of the feed's operations, as the OpenAPI document describes them. */

import * as z from 'zod';

/** The headers of a request that may be answered with a 304. */
export const requestHeaders = {
  'If-None-Match': z
    .string()
    .max(8_000)
    .regex(/[!-~]/)
    .optional()
    .meta({
      description: 'The `ETag` of the answer that you hold: 304 when it has not changed.',
      param: { id: 'If-None-Match' },
    }),
};

/** The headers of its answers. */
export const headers = {
  'Cache-Control': z.literal('private, no-cache').meta({
    description: 'Keep the answer for yourself, and ask with its `ETag` before you use it again.',
    header: { id: 'Private-No-Cache' },
  }),
  ETag: z
    .string()
    .max(40)
    .regex(/^"[0-9a-f]{32}"$/)
    .meta({ description: 'Names these bytes, for `If-None-Match`.', header: { id: 'ETag' } }),
  Age: z
    .int32()
    .min(0)
    .optional()
    .meta({
      description:
        'Seconds since the answer was made. Only while the database cannot be reached, when an older answer is served, up to `FEED_STALE_SECONDS`.',
      header: { id: 'Age' },
    }),
  'Cache-Status': z
    .string()
    .max(60)
    .regex(/^(edge; (hit; ttl=\d+|fwd=[a-z]+), )?isolate; (hit; ttl=\d+|fwd=[a-z]+)$/)
    .meta({
      description:
        'Which of the service’s caches gave the answer, and for how many seconds it is fresh still (RFC 9211).',
      header: { id: 'Cache-Status' },
    }),
};
