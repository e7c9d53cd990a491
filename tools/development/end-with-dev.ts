/**
 * Loaded first by the wrangler of `dev`: ends it when `dev` or a runtime is gone. `dev` learns which
 * runtimes there are, and ends them if wrangler is killed. So no process survives another one.
 */

import childProcess, { type ChildProcess } from 'node:child_process';
import { syncBuiltinESMExports } from 'node:module';

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
  if (!/(workerd|esbuild)[^/]*$/.test(child.spawnfile)) return;
  running.add(child);
  tell();
  child.once('exit', () => {
    running.delete(child);
    tell();
    // Wrangler kills a runtime to start another one.
    if (!child.killed) end();
  });
}

function tell(): void {
  if (process.connected) process.send?.([...running].map(({ pid }) => pid));
}

function end(): void {
  for (const child of running) child.kill('SIGKILL');
  process.exit(1);
}
