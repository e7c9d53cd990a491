/** Generates the document about event types from their schemas. */

import { describeEventTypes } from '../../events/openapi/event-type-samples.ts';
import { quoted } from '../first-requests.ts';

/**
 * Returns the Markdown document. It describes the fields of each event type, and has a command that
 * sends a sample.
 */
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

This page is for developers who send events. It lists every event type with the fields of its payload and a command that
sends a sample. All fields are optional: leave one out, or send \`null\` or \`""\`. [Events](events.md) describes how
events are sent, stored and read.

${chapters.join('\n\n')}
`;
}
