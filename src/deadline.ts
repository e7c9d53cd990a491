/** Limits how long callers wait. Work that misses its deadline continues, but its result is ignored. */

class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
}

const LATE = Symbol('late');

/** Returns the result of `work`. Throws `DeadlineExceeded` after `milliseconds`. */
export async function withDeadline<T>(
  work: Promise<T>,
  milliseconds: number,
  name: string,
): Promise<T> {
  const result = await firstWithin(work, milliseconds, LATE);
  if (result === LATE) throw new DeadlineExceeded(`${name} took over ${milliseconds} ms`);
  return result;
}

/** Returns the result of `work`, or `late` if it takes longer than `milliseconds`. */
export async function firstWithin<T, Late>(
  work: Promise<T>,
  milliseconds: number,
  late: Late,
): Promise<T | Late> {
  const pause = Promise.withResolvers<Late>();
  const timer = setTimeout(pause.resolve, milliseconds, late);
  try {
    return await Promise.race([work, pause.promise]);
  } finally {
    clearTimeout(timer);
  }
}
