/**
 * Addresses of entries in the Cache API, which takes addresses of the request's own zone only. They are under /api,
 * where the service answers every request itself, so the platform caches nothing else under them.
 */

/** Returns the address of an entry. `kind` names its use, so that the keys of two uses do not collide. */
export function edgeAddressOf(requestUrl: string, kind: string, key: string): string {
  // A URL cannot be parsed when the Host header is no valid authority.
  const origin = URL.parse(requestUrl)?.origin ?? 'https://unknown.invalid';
  return `${origin}/api/.${kind}/${encodeURIComponent(key)}`;
}
