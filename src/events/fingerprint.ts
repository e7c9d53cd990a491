/** Two bodies are the same when their canonical JSON (RFC 8785) is: order and white space do not count. */

import canonicalize from 'canonicalize';
import type { JsonObject } from '../http/json-body.ts';

/** Returns the SHA-256 of the canonical form in lower-case hexadecimal. */
export async function fingerprintOf(body: JsonObject): Promise<string> {
  const canonical = canonicalize(body);
  if (canonical === undefined) throw new Error('A JSON object must have a canonical form.');
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(canonical));
  return new Uint8Array(digest).toHex();
}
