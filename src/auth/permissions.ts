/** What the claim `permissions` of a token allows: an array of `area:level` strings. */

import * as z from 'zod';

/** Ascending: each level includes those before it. */
const LEVELS = ['viewer', 'editor', 'admin'] as const;

/** How much a permission allows in its area. */
export type Level = (typeof LEVELS)[number];

/** Anything in the claim that is no string is passed over, and so is a claim of another form. */
const claim = z.array(z.unknown()).catch([]);

/** Whether the claim holds `area` at `level` or higher. */
export function allows(permissions: unknown, area: string, level: Level): boolean {
  const sufficient = LEVELS.slice(LEVELS.indexOf(level)).map((enough) => `${area}:${enough}`);
  return claim.parse(permissions).some((held) => sufficient.some((enough) => held === enough));
}
