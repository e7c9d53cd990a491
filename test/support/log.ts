import { vi } from 'vitest';

/** Silences a method of the console. Returns a function that parses the lines written since then. */
export function watchLog(method: 'log' | 'error') {
  const log = vi.spyOn(console, method).mockReturnValue(undefined);
  return () => log.mock.calls.map(([line]) => JSON.parse(String(line)));
}
