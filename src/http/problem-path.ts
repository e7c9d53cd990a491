/** Writes the place of a problem as answers name it: `payload.items.0.id`. Pure. */

/** A name of an object, or an index of an array. */
export type PathSegment = string | number;

/** The most that an answer repeats of a path: its names come from the caller and may be as long as the body. */
const MAX_REPEATED_CHARACTERS = 500;

/** The length of the longest path that is written, with the mark of a cut. */
export const MAX_PATH_CHARACTERS = MAX_REPEATED_CHARACTERS + 1;

/** Writes the path in dots, cut when it is too long; `""` is the body as a whole. */
export function pathOf(segments: readonly PathSegment[]): string {
  const path = segments.join('.').toWellFormed();
  return path.length > MAX_REPEATED_CHARACTERS
    ? `${path.slice(0, MAX_REPEATED_CHARACTERS).toWellFormed()}…`
    : path;
}
