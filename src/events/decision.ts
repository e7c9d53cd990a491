/** Decides what becomes of a keyed request, from the events that its key has stored. Pure. */

import type { events } from './table.ts';

/** An event that a key has stored. */
export type KeyedEvent = Pick<
  typeof events.$inferSelect,
  'id' | 'type' | 'created_at' | 'fingerprint' | 'receipt'
>;

/** A request with a key. */
export type KeyedRequest = {
  /** UUID version 5 of the key. */
  keyId: string;
  /** SHA-256 of the body's canonical JSON. */
  fingerprint: string;
  /** Random, unique to this request, and stored with the event that it stores. */
  receipt: string;
  /** Milliseconds since the epoch. */
  now: number;
  retentionMs: number;
};

export type Decision<Event extends KeyedEvent> =
  /** This request stored the event. */
  | { kind: 'accepted'; event: Event }
  /** An earlier request stored the same body. */
  | { kind: 'replay'; event: Event }
  /** Another body holds the key. */
  | { kind: 'conflict'; holder: Event }
  /** The key is free, and this body is not stored under it. */
  | { kind: 'free' };

/** Reports whether an event accepted at `acceptedAt` still holds its key when the request arrives. */
export function holdsKey(acceptedAt: number, { now, retentionMs }: KeyedRequest): boolean {
  return acceptedAt + retentionMs > now;
}

/**
 * Decides from the events of the key, newest first. Needs only the newest one and the one with the
 * request's fingerprint.
 *
 * An event with the request's own receipt was stored by this very request, perhaps in an attempt
 * whose answer was lost. It is an acceptance, and no other request can mistake it for its own.
 */
export function decide<Event extends KeyedEvent>(
  events: readonly Event[],
  request: KeyedRequest,
): Decision<Event> {
  const own = events.find((event) => event.receipt === request.receipt);
  if (own !== undefined) return { kind: 'accepted', event: own };
  const [newest] = events;
  if (newest === undefined) return { kind: 'free' };
  const isHeld = holdsKey(newest.created_at, request);
  if (isHeld && newest.fingerprint !== request.fingerprint) {
    return { kind: 'conflict', holder: newest };
  }
  const same = events.find((event) => event.fingerprint === request.fingerprint);
  return same === undefined ? { kind: 'free' } : { kind: 'replay', event: same };
}
