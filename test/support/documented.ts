/**
 * Holds answers against the OpenAPI document: the status, each header and the body. Every answer that
 * http.ts gives to a test is held against it.
 *
 * The document's own JSON schemas are applied, not the zod schemas that they were made from. Zod reads
 * them back: other validators generate code, which workerd forbids.
 */

import * as z from 'zod';
import { createOpenApiDocument } from '../../src/openapi/document.ts';

const jsonSchema = z.record(z.string(), z.unknown());
const reference = z.object({ $ref: z.string() });
const header = z.object({ required: z.boolean().default(false), schema: jsonSchema });
const media = z.object({
  schema: jsonSchema,
  examples: z.record(z.string(), z.object({ value: z.unknown() })),
});
const answer = z.object({
  headers: z.record(z.string(), z.union([reference, header])).default({}),
  content: z.record(z.string(), media).optional(),
});
const operation = z.object({ responses: z.record(z.string(), answer) });
const documentShape = z.object({
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.object({
    headers: z.record(z.string(), header),
    schemas: z.record(z.string(), jsonSchema),
  }),
});

type Answer = z.infer<typeof answer>;

const document = documentShape.parse(JSON.parse(JSON.stringify(createOpenApiDocument())));
const errorMedia = {
  schema: { $ref: '#/components/schemas/ErrorEnvelope' },
  examples: {},
};

const allowHeader = { required: true, schema: { type: 'string', minLength: 1 } };

/** The paths of the document, each with the pattern of its addresses. */
const patterns = Object.keys(document.paths).map((template) => ({
  template,
  pattern: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`),
}));

/** Headers of the transport: OpenAPI describes them elsewhere or not at all. */
const TRANSPORT_HEADERS = [
  'connection',
  'content-length',
  'content-type',
  'date',
  'transfer-encoding',
];

/** Returns a line for each difference between the answer and the document. */
export async function differencesFromDocument(
  method: string,
  path: string,
  response: Response,
): Promise<string[]> {
  const described = describe(method, path, response.status);
  if (described === undefined) return [`status ${response.status} is not described`];
  return [
    ...headerDifferences(described, response.headers),
    ...(await bodyDifferences(described, method, response)),
  ];
}

function describe(method: string, path: string, status: number): Answer | undefined {
  const template = patterns.find(({ pattern }) => pattern.test(path))?.template;
  const operations = template === undefined ? undefined : document.paths[template];
  const known = operations?.[method === 'HEAD' ? 'get' : method.toLowerCase()];
  return known ? known.responses[status] : describeNoOperation(operations !== undefined, status);
}

/** Describes the answer for a path or method that is not listed, as the document's introduction does. */
function describeNoOperation(hasPath: boolean, status: number): Answer | undefined {
  if (![hasPath ? 405 : 404, 429, 500].includes(status)) return undefined;
  const [headers] = Object.values(document.paths).flatMap((operations) =>
    Object.values(operations).map(
      ({ responses }) => responses[status === 429 ? 429 : 500]?.headers,
    ),
  );
  return {
    headers: {
      ...headers,
      ...(status === 405 && { Allow: allowHeader }),
    },
    content: { 'application/json': errorMedia },
  };
}

function headerDifferences(described: Answer, headers: Headers): string[] {
  const specs = Object.entries(described.headers).map(([name, spec]) => ({
    name: name.toLowerCase(),
    ...('$ref' in spec ? headerAt(spec.$ref) : spec),
  }));
  const unknown = [...headers.keys()].filter(
    (name) => !TRANSPORT_HEADERS.includes(name) && !specs.some((spec) => spec.name === name),
  );
  return [
    ...unknown.map((name) => `header ${name} is not described`),
    ...specs.flatMap(({ name, required, schema }) => {
      const value = headers.get(name);
      if (value === null) return required ? [`header ${name} is missing`] : [];
      const typed = schema.type === 'integer' && /^\d+$/.test(value) ? Number(value) : value;
      return problemsOf(schema, typed).map((problem) => `header ${name}: ${problem}`);
    }),
  ];
}

async function bodyDifferences(
  described: Answer,
  method: string,
  response: Response,
): Promise<string[]> {
  const [type] = response.headers.get('Content-Type')?.split(';') ?? [];
  const text = await response.clone().text();
  const content = type === undefined ? undefined : described.content?.[type];
  if (content === undefined) {
    return described.content === undefined && type === undefined && text === ''
      ? []
      : [`content type ${type} is not described`];
  }
  if (method === 'HEAD') return text === '' ? [] : ['a HEAD has a body'];
  const body: unknown = JSON.parse(text);
  return [
    ...problemsOf(content.schema, body).map((problem) => `body ${problem}`),
    ...codeDifferences(content.examples, body),
  ];
}

/** Each code that a status can carry is the name of an example. */
function codeDifferences(examples: object, body: unknown): string[] {
  const parsed = z.object({ error: z.object({ code: z.string() }) }).safeParse(body);
  if (!parsed.success || Object.keys(examples).length === 0) return [];
  const { code } = parsed.data.error;
  return code in examples ? [] : [`error code ${code} is not described`];
}

const validators = new WeakMap<object, z.ZodType>();

function problemsOf(schema: z.infer<typeof jsonSchema>, value: unknown): string[] {
  let validator = validators.get(schema);
  if (validator === undefined) {
    validator = z.fromJSONSchema(standalone(schema));
    validators.set(schema, validator);
  }
  const parsed = validator.safeParse(value);
  return parsed.error?.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`) ?? [];
}

/**
 * Returns a schema with the document's components in it, if it names any. `format: uuid` is left out, for the `pattern`
 * beside it says enough: zod would also want a version, which ids of other systems need not have.
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

function headerAt(ref: string): z.infer<typeof header> {
  const found = document.components.headers[ref.split('/').at(-1) ?? ''];
  if (found === undefined) throw new Error(`the document has no ${ref}`);
  return found;
}
