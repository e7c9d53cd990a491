/**
 * Loaded first by the wrangler of `dev`: ends it when `dev` or a runtime is gone. `dev` learns which
 * runtimes there are, and ends them if wrangler is killed. So no process survives another one.
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

// A kill closes the channel too.
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
    // Wrangler kills a runtime to start another one.
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
