/** Bounded waiting: no call of this service may hold a request for ever. */

/** A call took longer than it may. */
class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
}

/**
 * Resolves as `work` does, or rejects with `DeadlineExceeded` after `milliseconds`.
 * The work itself goes on; its result after the deadline is ignored.
 */
export async function withDeadline<T>(
  work: Promise<T>,
  milliseconds: number,
  what: string,
): Promise<T> {
  const done = await firstWithin(
    work.then((value) => ({ value })),
    milliseconds,
  );
  if (done === undefined) throw new DeadlineExceeded(`${what} took over ${milliseconds} ms`);
  return done.value;
}

/** Resolves as `work` does, or with undefined after `milliseconds`. The work itself goes on. */
export async function firstWithin<T>(
  work: Promise<T>,
  milliseconds: number,
): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const pause = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds);
  });
  try {
    return await Promise.race([work, pause]);
  } finally {
    clearTimeout(timer);
  }
}
