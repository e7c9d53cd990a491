/** The log of the service. */

import { vi } from 'vitest';

/** Silences one method of the console. Returns what parses the lines that were written since. */
export function watchLog(method: 'log' | 'error') {
  const log = vi.spyOn(console, method).mockReturnValue(undefined);
  return () => log.mock.calls.map(([line]) => JSON.parse(String(line)));
}
