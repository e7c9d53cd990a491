/** Where in a body a problem is, as answers name it: `payload.items.0.id`. Pure. */

/** A name of an object, or an index of an array. */
export type PathSegment = string | number;

/** Names come from the caller and may be as long as the body: an answer repeats only this much. */
const MAX_PATH_CHARACTERS = 500;

/** The path in dots, cut when it is too long; `""` for the body as a whole. */
export function pathOf(segments: readonly PathSegment[]): string {
  const path = segments.join('.').toWellFormed();
  return path.length > MAX_PATH_CHARACTERS
    ? `${path.slice(0, MAX_PATH_CHARACTERS).toWellFormed()}…`
    : path;
}
