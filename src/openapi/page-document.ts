/**
 * The OpenAPI document as the page shows it. The headers that stand on every answer are told once, in
 * the introduction, and each operation shows its code samples, for which Swagger UI has no place.
 * Generators and linters get the whole document: they read one operation at a time.
 */

import * as z from 'zod';
import type { createOpenApiDocument } from './document.ts';

const record = z.record(z.string(), z.unknown());
const response = z.looseObject({ headers: record.optional() });
const samples = z.array(z.object({ lang: z.string(), label: z.string(), source: z.string() }));
const operation = z.looseObject({
  description: z.string(),
  responses: z.record(z.string(), response),
  'x-codeSamples': samples,
});
const shape = z.looseObject({
  info: z.looseObject({ description: z.string() }),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.looseObject({
    headers: z.record(z.string(), z.looseObject({ description: z.string() })),
  }),
});

type Document = z.infer<typeof shape>;

/** Makes the page's document from the whole one. */
export function pageDocument(whole: ReturnType<typeof createOpenApiDocument>): Document {
  const document = shape.parse(JSON.parse(JSON.stringify(whole)));
  const common = commonHeadersOf(document);
  document.info.description += `\n\n${tableOf(common, document)}`;
  for (const each of operationsOf(document)) {
    each.description += `\n\n${each['x-codeSamples'].map(blockOf).join('\n\n')}`;
    for (const { headers = {} } of Object.values(each.responses)) {
      for (const name of common) delete headers[name];
    }
  }
  return document;
}

function operationsOf({ paths }: Document) {
  return Object.values(paths).flatMap((methods) => Object.values(methods));
}

/** The names of the headers that every response describes. */
function commonHeadersOf(document: Document): string[] {
  const [first = [], ...others] = operationsOf(document).flatMap(({ responses }) =>
    Object.values(responses).map(({ headers = {} }) => Object.keys(headers)),
  );
  return first.filter((name) => others.every((names) => names.includes(name)));
}

function tableOf(names: readonly string[], { components }: Document): string {
  const rows = names.map((name) => `| \`${name}\` | ${components.headers[name]?.description} |`);
  return ['**Headers of every answer**', '', '| header | |', '|---|---|', ...rows].join('\n');
}

function blockOf({ lang, label, source }: z.infer<typeof samples>[number]): string {
  return `**${label}**\n\n\`\`\`${lang.toLowerCase()}\n${source}\n\`\`\``;
}
