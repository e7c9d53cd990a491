/**
 * The ids of keyed events: UUIDs of version 5 (RFC 9562 section 5.5), so that a caller computes the
 * id of its event without asking, and the same event has one id for ever.
 */

import { parse, v5 } from 'uuid';

/** Published in the README. Changing it would give every key another event. */
const KEY_NAMESPACE = parse('3c0f4e0e-7b52-4d0c-9a56-1f2be2d7c9a4');

/** The id of a key's first event, and the name under which the key is known: the key itself is not kept. */
export function keyIdOf(key: string): string {
  return v5(key, KEY_NAMESPACE);
}

/** The id of an event whose key had been used for another body before. */
export function laterEventIdOf(keyId: string, fingerprint: string): string {
  return v5(fingerprint, keyId);
}
