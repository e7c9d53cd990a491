/** When two bodies are the same: their canonical JSON (RFC 8785) is, whatever order and white space. */

import canonicalize from 'canonicalize';
import type { JsonObject } from '../http/json-limits.ts';

/** SHA-256 of the canonical form in lower-case hexadecimal. */
export async function fingerprintOf(body: JsonObject): Promise<string> {
  const canonical = canonicalize(body);
  if (canonical === undefined) throw new Error('an object has a canonical form');
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(canonical));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
