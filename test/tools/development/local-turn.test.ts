import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inLocalTurn } from '../../../tools/development/local-turn.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turn-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Returns a turn whose time passes only while it is waited for. `onPause` is told how long that was. */
function turnOf(onPause: (waitedMs: number) => void) {
  let now = 0;
  return {
    file: join(folder, 'made-when-missing', 'turn'),
    now: () => now,
    pause: async (milliseconds: number) => {
      now += milliseconds;
      onPause(now);
    },
  };
}

const never = () => {
  throw new Error('the turn was waited for');
};

/**
 * Starts another program that takes the turn and keeps it. A timer keeps it: the garbage collector takes
 * a promise that nothing can settle, and the lock with it. Returns a function that kills the program.
 */
async function holderOf(file: string) {
  const code = `
    const { inLocalTurn } = await import(${JSON.stringify(join(process.cwd(), 'tools/development/local-turn.ts'))});
    await inLocalTurn(() => {
      console.log('taken');
      return new Promise((resolve) => setTimeout(resolve, 600_000));
    }, { file: ${JSON.stringify(file)}, now: () => 0, pause: async () => {} });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise((resolve) => child.stdout.once('data', resolve));
  return async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  };
}

describe('a turn at the local database', () => {
  it('begins at once when it is free, and is free again after work that fails', async () => {
    await expect(inLocalTurn(() => Promise.reject(new Error('no')), turnOf(never))).rejects.toThrow(
      'no',
    );
    expect(await inLocalTurn(async () => 'done', turnOf(never))).toBe('done');
  });

  it('begins when the turn before it ends, and not earlier', async () => {
    const steps: string[] = [];
    const first = Promise.withResolvers<void>();
    const both = [
      inLocalTurn(async () => {
        await first.promise;
        steps.push('first ends');
      }, turnOf(never)),
      inLocalTurn(
        async () => steps.push('second begins'),
        turnOf((waitedMs) => {
          if (waitedMs === 1_000) first.resolve();
        }),
      ),
    ];
    await Promise.all(both);
    expect(steps).toEqual(['first ends', 'second begins']);
  });

  it('is waited for during two minutes; the work does not begin when it is not free by then', async () => {
    const first = Promise.withResolvers<void>();
    const holding = inLocalTurn(() => first.promise, turnOf(never));
    let waitedMs = 0;
    let hasBegun = false;
    const work = async () => {
      hasBegun = true;
    };
    const waiting = inLocalTurn(
      work,
      turnOf((milliseconds) => {
        waitedMs = milliseconds;
      }),
    );
    await expect(waiting).rejects.toThrow(
      'another program has been writing to the local database for two minutes',
    );
    expect({ waitedMs, hasBegun }).toEqual({ waitedMs: 120_000, hasBegun: false });
    first.resolve();
    await holding;
  });

  it('is held by another program for as long as that lives, and is free once it is killed', async () => {
    const end = await holderOf(turnOf(never).file);
    try {
      await expect(inLocalTurn(async () => 'done', turnOf(never))).rejects.toThrow('waited for');
    } finally {
      await end();
    }
    expect(await inLocalTurn(async () => 'done', turnOf(never))).toBe('done');
  });
});
