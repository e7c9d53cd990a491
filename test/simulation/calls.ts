/**
 * Draws how a simulated call behaves: when it takes effect, when its response arrives, and whether
 * it fails.
 */

import type { Random } from './random.ts';

export type Service = 'D1' | 'KV' | 'counter';

export type Behaviour = {
  /** Milliseconds until the call takes effect. */
  before: number;
  /** Milliseconds between the effect and the arrival of the response. */
  after: number;
  takesEffect: boolean;
  response: 'result' | 'error' | 'none';
};

/**
 * The range of a late call's delay, in milliseconds. It includes the service's time limit for the
 * call.
 */
const LATE_MS: Record<Service, readonly [number, number]> = {
  D1: [1_000, 14_000],
  KV: [500, 4_000],
  counter: [500, 3_000],
};

/**
 * Draws the behaviour of a call. `faultRate` is the share of calls that fail or are late. The other
 * calls take less than a second, or less than 0.1 s if `isSwift` is set.
 */
export function drawBehaviour(
  service: Service,
  random: Random,
  faultRate: number,
  isSwift: boolean,
): Behaviour {
  const delay = () => (isSwift ? random.between(0, 45) : drawDelay(random));
  const behaviour: Behaviour = {
    before: delay(),
    after: delay(),
    takesEffect: true,
    response: 'result',
  };
  const luck = random.next();
  const late = random.between(...LATE_MS[service]);
  const isEarly = random.chance(0.5);
  if (luck >= faultRate) return behaviour;
  const share = luck / faultRate;
  if (share < 0.3) return { ...behaviour, response: 'error' };
  if (share < 0.5) return { ...behaviour, takesEffect: false, response: 'error' };
  if (share < 0.8) return isEarly ? { ...behaviour, after: late } : { ...behaviour, before: late };
  return { ...behaviour, takesEffect: isEarly, response: 'none' };
}

/** Draws a delay of at most 450 milliseconds. Most delays are below 25 milliseconds. */
function drawDelay(random: Random): number {
  const share = random.next();
  if (share < 0.7) return random.between(0, 25);
  return share < 0.95 ? random.between(10, 150) : random.between(100, 450);
}
