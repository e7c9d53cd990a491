/** Schemas get their words in the files that write the document. */

import { expect, it } from 'vitest';
import * as z from 'zod';
import { createSchema } from 'zod-openapi';
import { described, worded } from '../../src/openapi/words.ts';

const name = z.string();
const place = z.strictObject({ name, note: z.string() });
const home = z
  .strictObject({
    object: z.literal('home'),
    name,
    place: place.nullable(),
    places: z.array(place),
  })
  .refine(() => true);

it('gives an object, its fields and the objects in it their words', () => {
  described(place, {
    id: 'Place',
    description: 'A place.',
    fields: { name: 'Its name.', note: { description: 'A note.', examples: ['by the sea'] } },
  });
  described(home, {
    id: 'Home',
    description: 'A home.',
    fields: { name: 'What it is called.', place: 'Where it is.', places: 'What is near.' },
  });
  const { components } = createSchema(worded(z.array(home)));
  expect(components).toMatchObject({
    Home: {
      description: 'A home.',
      properties: {
        name: { type: 'string', description: 'What it is called.' },
        place: {
          description: 'Where it is.',
          anyOf: [{ $ref: expect.stringMatching(/Place$/) }, {}],
        },
        places: { items: { $ref: expect.stringMatching(/Place$/) } },
      },
    },
    Place: {
      description: 'A place.',
      properties: {
        name: { type: 'string', description: 'Its name.' },
        note: { description: 'A note.', examples: ['by the sea'] },
      },
    },
  });
});

it('demands a word for each field, when the code is compiled', () => {
  const other = z.strictObject({ name, note: z.string() });
  // @ts-expect-error: there is no word for `note`.
  described(other, { description: 'Another.', fields: { name: 'Its name.' } });
  // @ts-expect-error: there is no word for any field.
  described(other, { description: 'Another.' });
});

it('refuses words for a schema that the document shows already', () => {
  const shown = z.strictObject({ name });
  worded(shown);
  expect(() => described(shown, { fields: { name: 'Its name.' } })).toThrow('shows this schema');
});
