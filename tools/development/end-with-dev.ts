/**
 * Loaded first by the wrangler of `dev`, so that no process of `dev` survives another one. It ends
 * wrangler when `dev` is gone, or a process that wrangler needs. It tells `dev` which processes
 * these are, for the case that wrangler itself is killed.
 */

import childProcess, { type ChildProcess } from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';

/** A process that wrangler has started, or that has ended. */
export type ChildNote = { pid: number; isRunning: boolean };

const running = new Set<ChildProcess>();

childProcess.spawn = new Proxy(childProcess.spawn, {
  apply(target, self, args) {
    const child: ChildProcess = Reflect.apply(target, self, args);
    follow(child);
    return child;
  },
});
syncBuiltinESMExports();

// The channel to `dev` closes with `dev`, even if that is killed.
process.once('disconnect', end);
process.channel?.unref();

function follow(child: ChildProcess): void {
  const { pid, spawnfile } = child;
  if (pid === undefined || !/(workerd|esbuild)[^/]*$/.test(spawnfile)) return;
  running.add(child);
  tell({ pid, isRunning: true });
  child.once('exit', () => {
    running.delete(child);
    tell({ pid, isRunning: false });
    // Wrangler kills a runtime only to start another one, or at its own end.
    if (!child.killed) end();
  });
}

function tell(note: ChildNote): void {
  if (process.connected) process.send?.(note);
}

function end(): void {
  for (const child of running) child.kill('SIGKILL');
  process.exit(1);
}
