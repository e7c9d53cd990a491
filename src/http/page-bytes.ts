/** The bound of a page in bytes: a page of the largest items would take more memory than an isolate has. */

/** The documents of a page, counted as they are stored. */
const MAX_PAGE_BYTES = 4 * 1_048_576;
/** UTF-8 takes at most so many bytes for a unit of UTF-16. */
const MAX_BYTES_PER_UNIT = 3;

/** Returns how many of the first documents make a page: as many as fit, and at least one. */
export function fittingDocuments(documents: readonly string[]): number {
  const units = documents.reduce((sum, document) => sum + document.length, 0);
  if (units * MAX_BYTES_PER_UNIT <= MAX_PAGE_BYTES) return documents.length;
  const encoder = new TextEncoder();
  let bytes = 0;
  for (const [index, document] of documents.entries()) {
    bytes += encoder.encode(document).length;
    if (bytes > MAX_PAGE_BYTES) return Math.max(index, 1);
  }
  return documents.length;
}
