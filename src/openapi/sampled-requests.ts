/** Finds the request that an operation's samples make: its path, query and body as its examples show them. */

import * as z from 'zod';
import { EXAMPLE_KEY } from '../events/openapi.ts';
import type { SampledRequest } from './code-samples.ts';

/** Headers that a sample sends where the operation takes them. */
const SAMPLE_HEADERS = { 'Idempotency-Key': EXAMPLE_KEY };
/** Query parameters that a sample sends where the operation takes them. */
const SAMPLE_QUERY = { limit: '2' };

const parameter = z.union([
  z.object({ $ref: z.string() }),
  z.object({ in: z.string(), name: z.string(), example: z.unknown().optional() }),
]);

const operation = z.object({
  parameters: z.array(parameter).default([]),
  security: z.array(z.unknown()).default([]),
  requestBody: z
    .object({
      content: z.object({
        'application/json': z.object({
          examples: z.record(z.string(), z.object({ value: z.unknown() })),
        }),
      }),
    })
    .optional(),
});

/** Returns the request of an operation of the document. `path` is a template. */
export function sampledRequestOf(method: string, path: string, described: unknown): SampledRequest {
  const { parameters, security, requestBody } = operation.parse(described);
  const names = parameters.map((each) =>
    '$ref' in each ? each.$ref.slice(each.$ref.lastIndexOf('/') + 1) : each.name,
  );
  const taken = (values: Record<string, string>) =>
    Object.fromEntries(Object.entries(values).filter(([name]) => names.includes(name)));
  const query = new URLSearchParams(taken(SAMPLE_QUERY)).toString();
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const found = parameters.find((each) => 'name' in each && each.name === name);
    return encodeURIComponent(String(found && 'example' in found ? found.example : name));
  });
  const [example] = Object.values(requestBody?.content['application/json'].examples ?? {});
  return {
    method: method.toUpperCase(),
    path: query === '' ? filled : `${filled}?${query}`,
    headers: taken(SAMPLE_HEADERS),
    needsKey: security.length > 0,
    body: example?.value,
  };
}
