/** The query parameter `type` of the list of events: one kind or several. */

import * as z from 'zod';
import { MAX_NAME_CHARACTERS, NAME_PATTERN, name } from './catalogue.ts';

const MAX_KINDS = 50;

const list = z.array(name).superRefine((kinds, context) => {
  if (kinds.length <= MAX_KINDS) return;
  // As a problem of an entry: the parameter as a whole may be repeated.
  const message = `must be at most ${MAX_KINDS} kinds`;
  context.addIssue({ code: 'custom', path: [MAX_KINDS], message });
});

/**
 * Comma-separated, repeated, or both. A kind that the catalogue does not have is allowed: no event has
 * it, or older ones do. The output is the JSON text of a list, with each kind once and in the order of
 * their code units, so that equal lists have equal outputs and a statement can bind it as one value.
 */
export const kinds = z
  .union([z.string(), z.array(z.string())])
  .transform((sent) => [sent].flat().join(',').split(','))
  .pipe(list)
  .transform((asked) => JSON.stringify([...new Set(asked)].sort()))
  .meta({
    param: { style: 'form', explode: false },
    override: ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => {
      delete jsonSchema.anyOf;
      const items = {
        type: 'string',
        minLength: 1,
        maxLength: MAX_NAME_CHARACTERS,
        pattern: NAME_PATTERN,
      };
      Object.assign(jsonSchema, { type: 'array', items, minItems: 1, maxItems: MAX_KINDS });
    },
  });

/** Returns the kinds as a cursor's filters have them: a single one as it is, as in cursors of earlier versions. */
export function kindsInCursor(value: string | number): unknown {
  const asked = z.array(z.string()).parse(JSON.parse(String(value)));
  return asked.length === 1 ? asked[0] : asked;
}
