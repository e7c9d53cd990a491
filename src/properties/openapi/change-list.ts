/** The list of changes as a resource, for the OpenAPI document and the tests. */

import * as z from 'zod';
import { described } from '../../http/described.ts';
import { lowerCaseUuid } from '../../http/uuid.ts';
import { cursorText, listOf } from '../../openapi/list-resource.ts';
import { property } from '../resource.ts';
import { slug } from '../text.ts';

/** An item of the list. */
const propertyChange = z
  .strictObject({
    object: z.literal('property_change'),
    id: lowerCaseUuid.meta({ description: 'Identifies the property.' }),
    slug: slug.meta({
      description: 'The slug of the property. For a removed property, its last public slug.',
      examples: ['casa-marea'],
    }),
    former_slugs: described(
      z.array(slug).max(20),
      'The slugs under which the property was public before, newest first, for redirects. A slug that another property has now is left out.',
    ),
    change: described(
      z.enum(['published', 'removed']),
      '`published`: the property is public, and is new or has changed. `removed`: the property is hidden now.',
    ),
    changed_at: described(
      z.iso.datetime().max(30),
      'When an import made the change. The list is not ordered by this time.',
      '2027-01-15T09:30:00.000Z',
    ),
    property: described(
      property.nullable(),
      'The property as it is now; null when it was removed.',
    ),
  })
  .register(z.globalRegistry, {
    id: 'PropertyChange',
    description: 'The latest change of a listing.',
  });

/** A page of changes. */
export const changeList = listOf(propertyChange)
  .extend({
    resume_cursor: cursorText.meta({
      description:
        'Opaque, and present in every answer: send it as `after` to get the changes after this answer, now or at any later time.',
    }),
  })
  .register(z.globalRegistry, { id: 'PropertyChangeList', description: 'A page of changes.' });
