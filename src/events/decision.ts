/** What becomes of a request with a key, from what the store holds under that key. Pure. */

/** An event that a key stored. Times in milliseconds since the epoch. */
export type KeyedEvent = {
  id: string;
  type: string;
  createdAt: number;
  fingerprint: string;
  /** Made by the one request that stored it. */
  receipt: string;
  /** The body it was accepted from; left out where its fingerprint is the request's own. */
  body?: unknown;
};

/** A request with a key. Times in milliseconds. */
export type KeyedRequest = {
  fingerprint: string;
  receipt: string;
  now: number;
  retentionMs: number;
};

/** What becomes of it: stored by itself, stored before, refused, or not stored yet. */
export type Decision =
  | { kind: 'accepted'; event: KeyedEvent }
  | { kind: 'replay'; event: KeyedEvent }
  | { kind: 'conflict'; holder: KeyedEvent }
  /** Nothing stands in the way of storing this request. */
  | { kind: 'free' };

/** Whether what was accepted at `acceptedAt` still holds its key. */
export function holdsKey(acceptedAt: number, now: number, retentionMs: number): boolean {
  return acceptedAt + retentionMs > now;
}

/**
 * `events` are those of the key, newest first: at least the newest and the one with the request's
 * fingerprint.
 *
 * A row that carries the request's own receipt was stored by this very request, perhaps by an
 * attempt whose answer was lost: that is an acceptance, and no other request can take it for one.
 */
export function decide(events: readonly KeyedEvent[], request: KeyedRequest): Decision {
  const own = events.find((event) => event.receipt === request.receipt);
  if (own !== undefined) return { kind: 'accepted', event: own };
  const [newest] = events;
  if (newest === undefined) return { kind: 'free' };
  const isHeld = holdsKey(newest.createdAt, request.now, request.retentionMs);
  if (isHeld && newest.fingerprint !== request.fingerprint) {
    return { kind: 'conflict', holder: newest };
  }
  const same = events.find((event) => event.fingerprint === request.fingerprint);
  return same === undefined ? { kind: 'free' } : { kind: 'replay', event: same };
}
