/** Calls of D1 by commands, which wait while other programs use the database. */

import { isTransientFault } from '../../src/storage/d1.ts';

const PATIENCE_MS = 60_000;
const PAUSE_MS = 50;

/** Repeats a call that meets a passing fault for a minute, so it must be safe to run twice. */
export async function patiently<T>(call: () => Promise<T>): Promise<T> {
  const startedAt = Date.now();
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isTransientFault(error) || Date.now() - startedAt > PATIENCE_MS) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * (0.5 + Math.random())));
    }
  }
}
