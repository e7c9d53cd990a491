/**
 * Returns the address of an entry in the Cache API, which takes addresses of the request's own zone only. Under /api the
 * platform caches nothing else. `kind` names the entry's use.
 */
export function edgeAddressOf(requestUrl: string, kind: string, key: string): string {
  // A URL cannot be parsed when the Host header is no valid authority.
  const origin = URL.parse(requestUrl)?.origin ?? 'https://unknown.invalid';
  return `${origin}/api/.${kind}/${encodeURIComponent(key)}`;
}
