/** Errors that commands print as a sentence. */

/** A fault that the user can correct. Programs print its message without a stack. */
export class UserError extends Error {
  override readonly name = 'UserError';
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
