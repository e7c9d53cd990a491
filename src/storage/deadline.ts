/** Bounded waiting: nothing that this service calls may hold a request for ever. */

/** A call that took longer than it may. */
export class DeadlineExceeded extends Error {
  override readonly name = 'DeadlineExceeded';
}

/**
 * Resolves as `work` does, or rejects with `DeadlineExceeded` after `milliseconds`.
 * The work itself goes on; what it does after the deadline is ignored.
 */
export async function withDeadline<T>(
  work: Promise<T>,
  milliseconds: number,
  what: string,
): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new DeadlineExceeded(`${what} took over ${milliseconds} ms`));
    }, milliseconds);
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
