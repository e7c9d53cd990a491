/**
 * Compares a response with the OpenAPI document: its status, headers and body. `http.ts` checks
 * every response that a test gets.
 *
 * The checks use the JSON schemas of the strict document, not the zod schemas that they were
 * generated from. Zod is the validator, because other validators generate code at run time, which
 * workerd forbids.
 */

import * as z from 'zod';
import { createOpenApiDocument } from '../../src/openapi/api-document.ts';

const jsonSchema = z.record(z.string(), z.unknown());
const header = z.object({ required: z.boolean().default(false), schema: jsonSchema });
const examples = z.record(z.string(), z.object({ value: z.unknown() }));
const described = z.object({
  headers: z.record(z.string(), header).default({}),
  content: z.record(z.string(), z.object({ schema: jsonSchema, examples })).optional(),
});
const parameter = z.object({ in: z.string(), name: z.string() });
const operation = z.object({
  parameters: z.array(parameter).default([]),
  responses: z.record(z.string(), described),
  'x-scope': z.string().default('open'),
});
const documentShape = z.object({
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.object({ schemas: z.record(z.string(), jsonSchema) }),
});

type Described = z.infer<typeof described>;

const { components = {}, ...strict } = createOpenApiDocument('strict');
const { schemas, ...others } = components;
const partsByReference = new Map<unknown, unknown>(
  Object.entries(others).flatMap(([kind, parts]) =>
    Object.entries(parts).map(([name, part]) => [`#/components/${kind}/${name}`, part] as const),
  ),
);

/** The OpenAPI document with all references resolved, except references to schemas. */
export const document = documentShape.parse(
  resolveReferences({ ...strict, components: { schemas } }),
);

function resolveReferences(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_, part) =>
    partsByReference.has(part?.$ref) ? resolveReferences(partsByReference.get(part.$ref)) : part,
  );
}

/** The document's path templates and the patterns that match their paths. */
const patterns = Object.keys(document.paths).map((template) => ({
  template,
  pattern: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`),
}));

export function getQueryNames(path: string, method = 'get'): string[] {
  const parameters = document.paths[path]?.[method]?.parameters ?? [];
  return parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => name);
}

/** Transport headers. OpenAPI describes them in other fields or not at all. */
const TRANSPORT_HEADERS = [
  'connection',
  'content-length',
  'content-type',
  'date',
  'transfer-encoding',
];

/** Patterns for the headers that the document's introduction describes. */
const INTRODUCED_HEADERS: Readonly<Record<string, RegExp>> = {
  'cache-control': /^no-store$/,
  'x-content-type-options': /^nosniff$/,
  'x-frame-options': /^DENY$/,
  'strict-transport-security': /^max-age=63072000; includeSubDomains$/,
  'referrer-policy': /^no-referrer$/,
  'content-security-policy': /^default-src 'none'; frame-ancestors 'none'$/,
  'cross-origin-resource-policy': /^cross-origin$/,
  'server-timing': /^(counter;dur=\d{1,6}, )?(database;dur=\d{1,6}, )?total;dur=\d{1,6}$/,
  'access-control-allow-origin': /^[!-~]+$/,
  'access-control-expose-headers': /^[\w-]+(,[\w-]+)*$/,
  vary: /^[\w-]+(, ?[\w-]+)*$/,
};
const OPTIONAL = ['server-timing', 'access-control', 'vary'];

/** Returns one line for each difference between a response and the document. */
export async function differencesFromDocument(
  method: string,
  path: string,
  response: Response,
): Promise<string[]> {
  const promised = describe(method, path, response.status);
  if (promised === undefined) return [`status ${response.status} is not described`];
  return [
    ...headerDifferences(promised, response.headers),
    ...(await bodyDifferences(promised, method, response)),
  ];
}

function describe(method: string, path: string, status: number): Described | undefined {
  const template = patterns.find(({ pattern }) => pattern.test(path))?.template;
  const operations = template === undefined ? undefined : document.paths[template];
  const operation = operations?.[method === 'HEAD' ? 'get' : method.toLowerCase()];
  return operation
    ? operation.responses[status]
    : describeNoOperation(operations !== undefined, status);
}

/**
 * Returns the description of a response to an undocumented path or method. The document's
 * introduction promises these responses.
 */
function describeNoOperation(hasPath: boolean, status: number): Described | undefined {
  if (![hasPath ? 405 : 404, 429, 500].includes(status)) return undefined;
  const [any] = Object.values(document.paths).flatMap((operations) => Object.values(operations));
  const Allow = { required: true, schema: { type: 'string', minLength: 1 } };
  const headers = any?.responses[status === 429 ? 429 : 500]?.headers;
  const schema = { $ref: '#/components/schemas/ErrorEnvelope' };
  return {
    headers: { ...headers, ...(status === 405 && { Allow }) },
    content: { 'application/json': { schema, examples: {} } },
  };
}

function headerDifferences(promised: Described, headers: Headers): string[] {
  const specs = Object.entries(promised.headers).map(([name, spec]) => ({
    name: name.toLowerCase(),
    ...spec,
  }));
  const isSpecified = (name: string) => specs.some((spec) => spec.name === name);
  const unknown = [...headers.keys()].filter(
    (name) =>
      !TRANSPORT_HEADERS.includes(name) && !(name in INTRODUCED_HEADERS) && !isSpecified(name),
  );
  const other = Object.entries(INTRODUCED_HEADERS).filter(([name, value]) => {
    const isMissing = !headers.has(name) && OPTIONAL.some((prefix) => name.startsWith(prefix));
    return !isSpecified(name) && !isMissing && !value.test(headers.get(name) ?? '');
  });
  return [
    ...unknown.map((name) => `header ${name} is not described`),
    ...other.map(([name]) => `header ${name} differs from the introduction`),
    ...specs.flatMap(({ name, required, schema }) => {
      const value = headers.get(name);
      if (value === null) return required ? [`header ${name} is missing`] : [];
      const typed = schema.type === 'integer' && /^\d+$/.test(value) ? Number(value) : value;
      return findProblems(schema, typed).map((problem) => `header ${name}: ${problem}`);
    }),
  ];
}

async function bodyDifferences(
  promised: Described,
  method: string,
  response: Response,
): Promise<string[]> {
  const [type] = response.headers.get('Content-Type')?.split(';') ?? [];
  const text = await response.clone().text();
  const content = type === undefined ? undefined : promised.content?.[type];
  if (content === undefined) {
    return promised.content === undefined && type === undefined && text === ''
      ? []
      : [`content type ${type} is not described`];
  }
  if (method === 'HEAD') return text === '' ? [] : ['a HEAD has a body'];
  const body: unknown = JSON.parse(text);
  return [
    ...findProblems(content.schema, body).map((problem) => `body ${problem}`),
    ...codeDifferences(content.examples, body),
  ];
}

/**
 * Checks that the error code is the name of a documented example. The examples of a status cover
 * all of its codes.
 */
function codeDifferences(examples: object, body: unknown): string[] {
  const parsed = z.object({ error: z.object({ code: z.string() }) }).safeParse(body);
  if (!parsed.success || Object.keys(examples).length === 0) return [];
  const { code } = parsed.data.error;
  return code in examples ? [] : [`error code ${code} is not described`];
}

const validators = new WeakMap<object, z.ZodType>();

/** Returns one line for each way in which a value violates a schema of the document. */
export function findProblems(schema: z.infer<typeof jsonSchema>, value: unknown): string[] {
  let validator = validators.get(schema);
  if (validator === undefined) {
    validator = z.fromJSONSchema(standalone(schema));
    validators.set(schema, validator);
  }
  const parsed = validator.safeParse(value);
  return parsed.error?.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`) ?? [];
}

/**
 * Returns a schema that includes the document's components if it refers to any. Removes `format:
 * uuid`, because zod would also check the version, and ids from other systems may not have one. The
 * `pattern` next to it still checks the form.
 */
function standalone(schema: object) {
  const alone = JSON.stringify(schema);
  const needsComponents = alone.includes('#/components/schemas/');
  const whole = needsComponents ? { ...schema, $defs: document.components.schemas } : schema;
  const text = JSON.stringify(whole)
    .replaceAll('#/components/schemas/', '#/$defs/')
    .replaceAll('"format":"uuid",', '')
    .replaceAll(',"format":"uuid"', '');
  return z.record(z.string(), z.unknown()).parse(JSON.parse(text));
}
