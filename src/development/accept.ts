/** Content negotiation by the `Accept` header: RFC 9110, section 12.5.1. */

import { parseAccept } from 'hono/utils/accept';

type MediaRange = ReturnType<typeof parseAccept>[number];

/** Parameters of a range that do not make it narrower than the responses of this service. */
const IGNORED_PARAMETERS = ['q', 'charset'];

/** Whether a client prefers a page to JSON. A client that accepts anything does not. */
export function prefersHtml(accept: string | undefined): boolean {
  const ranges = parseAccept(accept ?? '');
  return getQuality('text/html', ranges) > getQuality('application/json', ranges);
}

/** Returns the quality of the most specific range that includes a media type; 0 without one. */
function getQuality(mediaType: string, ranges: readonly MediaRange[]): number {
  const includingRanges = [mediaType, mediaType.replace(/\/.*/, '/*'), '*/*'];
  const matches = includingRanges.flatMap((name) =>
    ranges.filter(({ type, params }) => type.toLowerCase() === name && !isNarrowed(params)),
  );
  return matches[0]?.q ?? 0;
}

/** Whether a range such as `text/html;level=1` excludes a response without that parameter. */
function isNarrowed(parameters: MediaRange['params']): boolean {
  return Object.keys(parameters).some((name) => !IGNORED_PARAMETERS.includes(name.toLowerCase()));
}
