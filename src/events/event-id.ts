/**
 * The ids of keyed events. They are UUIDs of version 5 (RFC 9562 section 5.5), so a caller can compute
 * the id of its event, and an event has the same id for ever.
 */

import { parse, v5 } from 'uuid';

/** Published in docs/events.md. Another namespace would give every key another event. */
const KEY_NAMESPACE = parse('3c0f4e0e-7b52-4d0c-9a56-1f2be2d7c9a4');

/** Returns the id of a key's first event. The service stores it in place of the key. */
export function keyIdOf(key: string): string {
  return v5(key, KEY_NAMESPACE);
}

/** Returns the id of an event whose key has stored another body before. */
export function laterEventIdOf(keyId: string, fingerprint: string): string {
  return v5(fingerprint, keyId);
}
