/** The event types as a document, made from the schemas. */

import { describeEventTypes } from '../../events/openapi/event-type-samples.ts';
import { quoted } from '../first-requests.ts';

/** Returns Markdown: each event type with its fields, and the command that sends a sample. */
export function eventTypesDocument(origin: string, apiKey: string): string {
  const chapters = describeEventTypes().map(({ type, fields, sample }) => {
    const rows = fields.map(({ name, description }) => `| \`${name}\` | ${description} |`);
    return `## \`${type}\`

| field of the payload | value |
|---|---|
${rows.join('\n')}

\`\`\`sh
curl -s ${origin}/api/public/events/ingest \\
  -H ${quoted(`x-api-key: ${apiKey}`)} \\
  -H 'Content-Type: application/json' \\
  -H ${quoted(`Idempotency-Key: ${sample.aggregate_id}-${type}`)} \\
  -d ${quoted(JSON.stringify(sample, null, 2))}
\`\`\``;
  });
  return `# Event types

Each event type with the fields of its payload and a sample, as the running service accepts them. Each field may be left
out, or be \`null\` or \`""\`. [Events](events.md) says how events are sent, stored and read.

${chapters.join('\n\n')}
`;
}
