/** The claim `permissions` of a token: an array of `area:level` strings. */

import * as z from 'zod';

/** Ascending: each level includes those before it. */
const LEVELS = ['viewer', 'editor', 'admin'] as const;

/** The strength of a permission in its area. */
export type Level = (typeof LEVELS)[number];

/** Passes over entries that are not strings, and a claim of another form. */
const claim = z.array(z.unknown()).catch([]);

/** Reports whether the claim holds `area` at `level` or higher. */
export function allows(permissions: unknown, area: string, level: Level): boolean {
  const sufficient = LEVELS.slice(LEVELS.indexOf(level)).map((enough) => `${area}:${enough}`);
  return claim.parse(permissions).some((held) => sufficient.some((enough) => held === enough));
}
