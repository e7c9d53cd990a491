/** The calls of the service's dependencies: when each takes effect, when its answer comes, and what goes wrong. */

import type { Random } from './random.ts';
import type { Owner, Scheduler } from './scheduler.ts';

/** The services that can be called, and can be out of order. */
export type Service = 'D1' | 'KV' | 'counter' | 'edge cache';

/** The fate of one call. */
type Fate = {
  /** Milliseconds until the call takes effect, and from then until its answer comes. */
  before: number;
  after: number;
  takesEffect: boolean;
  answer: 'result' | 'error' | 'none';
};

/** Milliseconds after which a late call takes effect: about the service's own time limit for it. */
const LATE_MS: Record<Service, readonly [number, number]> = {
  D1: [1_000, 14_000],
  KV: [500, 4_000],
  counter: [500, 3_000],
  'edge cache': [100, 3_000],
};

/** The number of times that each thing has happened, over all runs. */
export const FAULTS = new Map<string, number>();

/** Counts a fault. */
export function countFault(name: string): void {
  FAULTS.set(name, (FAULTS.get(name) ?? 0) + 1);
}

export type Calling = {
  scheduler: Scheduler;
  /** Draws the fate of the call. */
  random: Random;
  /** From 0 (nothing fails, and no call takes a second) to 1 (nearly all calls fail). */
  roughness: number;
  /** No call takes 0.1 s. */
  isSwift: boolean;
  /** Waits for the answer. */
  caller: Owner;
  isOut: (service: Service) => boolean;
  /** Calls of the service hang: they take no effect and are never answered. */
  isStalled: (service: Service) => boolean;
};

/** The world goes on whatever becomes of its isolates. */
const WORLD: Owner = { isAlive: true };

/** Makes a call. Its effect happens even when its caller is gone by then. */
export function call<T>(service: Service, calling: Calling, effect: () => T): Promise<T> {
  const { scheduler, random, roughness, isSwift, caller, isOut, isStalled } = calling;
  const delay = () => (isSwift ? random.between(0, 45) : delayOf(random));
  const fate = fateOf(service, random, roughness, delay);
  return new Promise((resolve, reject) => {
    scheduler.schedule(fate.before, WORLD, () => {
      if (isStalled(service)) {
        countFault(`${service}: stalled`);
        return;
      }
      let answer = () => reject(connectionLost());
      if (isOut(service)) {
        countFault(`${service}: outage`);
      } else if (fate.takesEffect) {
        try {
          const result = effect();
          if (fate.answer === 'result') answer = () => resolve(result);
        } catch (error) {
          answer = () => reject(error);
        }
      }
      if (fate.answer !== 'none') scheduler.schedule(fate.after, caller, answer);
    });
  });
}

/** D1's text for a fault that passes by itself. */
function connectionLost(): Error {
  return new Error('D1_ERROR: Network connection lost.');
}

function fateOf(service: Service, random: Random, roughness: number, delay: () => number): Fate {
  const fate: Fate = {
    before: delay(),
    after: delay(),
    takesEffect: true,
    answer: 'result',
  };
  const luck = random.next();
  const late = random.between(...LATE_MS[service]);
  const isEarly = random.chance(0.5);
  if (luck >= roughness) return fate;
  const share = luck / roughness;
  if (share < 0.3) {
    countFault(`${service}: answer lost after the effect`);
    return { ...fate, answer: 'error' };
  }
  if (share < 0.5) {
    countFault(`${service}: failed before the effect`);
    return { ...fate, takesEffect: false, answer: 'error' };
  }
  if (share < 0.8) {
    countFault(`${service}: late effect or answer`);
    return isEarly ? { ...fate, after: late } : { ...fate, before: late };
  }
  countFault(`${service}: no answer`);
  return { ...fate, takesEffect: isEarly, answer: 'none' };
}

/** Mostly some milliseconds, at times up to 450: a call that nothing is wrong with takes less than a second. */
function delayOf(random: Random): number {
  const share = random.next();
  if (share < 0.7) return random.between(0, 25);
  return share < 0.95 ? random.between(10, 150) : random.between(100, 450);
}
