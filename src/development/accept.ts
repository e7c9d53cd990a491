/** Negotiates content by the `Accept` header, as in RFC 9110, section 12.5.1. */

import { parseAccept } from 'hono/utils/accept';

type MediaRange = ReturnType<typeof parseAccept>[number];

/** Range parameters that do not exclude any response of this service. */
const IGNORED_PARAMETERS = ['q', 'charset'];

/** Whether a client prefers a page to JSON. A client that accepts everything does not. */
export function prefersHtml(accept: string | undefined): boolean {
  const ranges = parseAccept(accept ?? '');
  return getQuality('text/html', ranges) > getQuality('application/json', ranges);
}

/**
 * Returns the quality of the most specific range that includes a media type; 0 if no range includes
 * it.
 */
function getQuality(mediaType: string, ranges: readonly MediaRange[]): number {
  const includingRanges = [mediaType, mediaType.replace(/\/.*/, '/*'), '*/*'];
  const matches = includingRanges.flatMap((name) =>
    ranges.filter(({ type, params }) => type.toLowerCase() === name && !isNarrowed(params)),
  );
  return matches[0]?.q ?? 0;
}

/** Whether a range has a parameter, such as `text/html;level=1`, that no response has. */
function isNarrowed(parameters: MediaRange['params']): boolean {
  return Object.keys(parameters).some((name) => !IGNORED_PARAMETERS.includes(name.toLowerCase()));
}
