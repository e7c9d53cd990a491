/**
 * Addresses in the Cache API. It takes addresses of the request's own zone only. These are under /api, where
 * the service itself answers every request: nothing else is ever cached there.
 */

/** Returns the address of a key. `kind` keeps the keys of one use apart from those of others. */
export function edgeAddressOf(requestUrl: string, kind: string, key: string): string {
  // A URL cannot be parsed when the Host header is no valid authority.
  const origin = URL.parse(requestUrl)?.origin ?? 'https://unknown.invalid';
  return `${origin}/api/.${kind}/${encodeURIComponent(key)}`;
}
