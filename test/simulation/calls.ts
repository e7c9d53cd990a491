/** The fates of calls: when each takes effect, when its response comes, and what goes wrong. */

import type { Random } from './random.ts';

/** The services that can be called. */
export type Service = 'D1' | 'KV' | 'counter';

export type Fate = {
  /** Milliseconds until the call takes effect, and from then until its response comes. */
  before: number;
  after: number;
  takesEffect: boolean;
  response: 'result' | 'error' | 'none';
};

/** Milliseconds after which a late call takes effect: about the service's own time limit for it. */
const LATE_MS: Record<Service, readonly [number, number]> = {
  D1: [1_000, 14_000],
  KV: [500, 4_000],
  counter: [500, 3_000],
};

/**
 * Draws the fate of a call. With `roughness` 0 nothing fails, and no call takes a second; with 1
 * nearly all calls fail. A swift call takes less than 0.1 s unless it goes wrong.
 */
export function fateOf(
  service: Service,
  random: Random,
  roughness: number,
  isSwift: boolean,
): Fate {
  const delay = () => (isSwift ? random.between(0, 45) : delayOf(random));
  const fate: Fate = { before: delay(), after: delay(), takesEffect: true, response: 'result' };
  const luck = random.next();
  const late = random.between(...LATE_MS[service]);
  const isEarly = random.chance(0.5);
  if (luck >= roughness) return fate;
  const share = luck / roughness;
  if (share < 0.3) return { ...fate, response: 'error' };
  if (share < 0.5) return { ...fate, takesEffect: false, response: 'error' };
  if (share < 0.8) return isEarly ? { ...fate, after: late } : { ...fate, before: late };
  return { ...fate, takesEffect: isEarly, response: 'none' };
}

/**
 * Mostly some milliseconds, at times up to 450: a call that nothing is wrong with takes less than a
 * second.
 */
function delayOf(random: Random): number {
  const share = random.next();
  if (share < 0.7) return random.between(0, 25);
  return share < 0.95 ? random.between(10, 150) : random.between(100, 450);
}
