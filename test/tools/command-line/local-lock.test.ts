import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { withLocalLock } from '../../../tools/command-line/local-lock.ts';

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'lock-'));
  file = join(folder, 'made-when-missing', 'lock');
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

it('work begins when the lock is released, and not earlier, also after work that fails', async () => {
  // The name of the program that has the lock cannot be written, as on a full disk.
  mkdirSync(`${file}.holder`, { recursive: true });
  const steps: string[] = [];
  const first = Promise.withResolvers<void>();
  const holding = withLocalLock(async () => {
    await first.promise;
    steps.push('first ends');
    throw new Error('no');
  }, file);
  const waiting = withLocalLock(async () => steps.push('second begins'), file);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(steps).toEqual([]);
  first.resolve();
  await expect(holding).rejects.toThrow('no');
  await vi.advanceTimersByTimeAsync(1_000);
  await waiting;
  expect(steps).toEqual(['first ends', 'second begins']);
});

it('waiting work says for whom, and does not begin if the lock is not free within two minutes', async () => {
  const log = vi.spyOn(console, 'error').mockImplementation(() => {});
  const first = Promise.withResolvers<void>();
  const holding = withLocalLock(() => first.promise, file);
  const work = vi.fn(async () => {});
  const waiting = withLocalLock(work, file);
  const failed = expect(waiting).rejects.toThrow(
    `(process ${process.pid}) has been writing to the local database for two minutes`,
  );
  await vi.advanceTimersByTimeAsync(119_000);
  expect(log.mock.calls).toEqual([[expect.stringContaining(`(process ${process.pid}), which`)]]);
  await vi.advanceTimersByTimeAsync(2_000);
  await failed;
  expect(work).not.toHaveBeenCalled();
  first.resolve();
  await holding;
  log.mockRestore();
});
