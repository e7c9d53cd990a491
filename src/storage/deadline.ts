/** Bounded waiting: no call of this service may hold a request for ever. */

/** A call took longer than it may. */
class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
}

/** The result of `firstWithin` for late work. */
const LATE = Symbol('late');

/**
 * Resolves as `work` does, or rejects with `DeadlineExceeded` after `milliseconds`. The work itself goes on; its result
 * after the deadline is ignored.
 */
export async function withDeadline<T>(
  work: Promise<T>,
  milliseconds: number,
  name: string,
): Promise<T> {
  const first = await firstWithin(work, milliseconds, LATE);
  if (first === LATE) throw new DeadlineExceeded(`${name} took over ${milliseconds} ms`);
  return first;
}

/** Resolves as `work` does, or with `late` after `milliseconds`. The work itself goes on. */
export async function firstWithin<T, Late>(
  work: Promise<T>,
  milliseconds: number,
  late: Late,
): Promise<T | Late> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const pause = new Promise<Late>((resolve) => {
    timer = setTimeout(resolve, milliseconds, late);
  });
  try {
    return await Promise.race([work, pause]);
  } finally {
    clearTimeout(timer);
  }
}
