/**
 * A request of each operation as code, for curl and for TypeScript with nothing but `fetch`. Its path, query
 * and body are those of the operation's examples.
 */

import * as z from 'zod';
import { EXAMPLE_KEY } from '../events/openapi.ts';

/** The parts of an operation that a sample shows. */
type SampledRequest = {
  /** Is in upper case. */
  method: string;
  /** Has its parameters filled in, and a query. */
  path: string;
  /** The headers besides those of the credentials and the body. */
  headers: Readonly<Record<string, string>>;
  needsKey: boolean;
  body?: unknown;
};

/** Writes the samples as `x-codeSamples` holds them. `API_URL` and `API_KEY` stand in the environment. */
export function codeSamplesOf(request: SampledRequest) {
  return [
    { lang: 'Shell', label: 'curl', source: curlOf(request) },
    { lang: 'TypeScript', label: 'TypeScript', source: typeScriptOf(request) },
  ];
}

function curlOf({ method, path, headers, needsKey, body }: SampledRequest): string {
  const lines = [
    `curl -s "$API_URL${path}"`,
    ...(needsKey ? ['-H "x-api-key: $API_KEY"'] : []),
    ...Object.entries(headers).map(([name, value]) => `-H '${name}: ${value}'`),
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json'`]),
    ...(body === undefined ? [] : [`-d '${JSON.stringify(body)}'`]),
    // curl sends a GET without data, and a POST with it.
    ...(method === (body === undefined ? 'GET' : 'POST') ? [] : [`-X ${method}`]),
  ];
  return lines.join(' \\\n  ');
}

function typeScriptOf({ method, path, headers, needsKey, body }: SampledRequest): string {
  const sent = [
    ...(needsKey ? [`    'x-api-key': process.env.API_KEY ?? '',`] : []),
    ...Object.entries(headers).map(([name, value]) => `    '${name}': '${value}',`),
    ...(body === undefined ? [] : [`    'Content-Type': 'application/json',`]),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(sent.length === 0 ? [] : ['  headers: {', ...sent, '  },']),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${literalOf(body)}),`]),
  ];
  const url = `\`\${process.env.API_URL}${path}\``;
  const call =
    options.length === 0 ? `fetch(${url})` : `fetch(${url}, {\n${options.join('\n')}\n})`;
  return [
    `const response = await ${call};`,
    'if (!response.ok) throw new Error(await response.text());',
    'console.log(await response.json());',
  ].join('\n');
}

/** Writes a value as TypeScript does, indented to stand in the options of a call. */
function literalOf(value: unknown): string {
  return JSON.stringify(value, null, 2)
    .replace(/^( *)"([A-Za-z_]\w*)":/gm, '$1$2:')
    .replace(/"([^"'\\]*)"(?=,?$)/gm, "'$1'")
    .replace(/\n/g, '\n  ');
}

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
