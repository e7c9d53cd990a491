/** Makes API keys and the ids of events for tests. */

import { v5 } from 'uuid';

/** Returns the SHA-256 hash of a string in lower-case hexadecimal. */
export async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Makes a named API key and its entry in the var `API_KEYS`. */
export async function namedKey(name: string, scopes: string[], expires?: string) {
  const key = `epf_${name}_${crypto.randomUUID()}`;
  const entry = { name, scopes, sha256: await sha256(key), ...(expires && { expires }) };
  return { key, entry };
}

/**
 * Returns the id that docs/reference/events.md promises for the first event with an idempotency
 * key.
 */
export function deriveEventId(key: string): string {
  return v5(key, '3c0f4e0e-7b52-4d0c-9a56-1f2be2d7c9a4');
}
