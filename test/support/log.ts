import { vi } from 'vitest';

/**
 * Silences a console method. Returns a function that parses and returns the lines logged so far.
 */
export function watchLog(method: 'log' | 'error') {
  const log = vi.spyOn(console, method).mockReturnValue(undefined);
  return () => log.mock.calls.map(([line]) => JSON.parse(String(line)));
}
