/** The npm that runs this program: what it keeps of the arguments, and when it ends. */

const CHECK_MS = 1_000;

/**
 * The option of this script that npm has kept for itself, as it does unless `--` stands before it: the
 * program would do something else than was asked. Only those of `options` are looked for.
 */
export function findKeptOption(script: string, options: readonly string[]): string | undefined {
  if (process.env.npm_lifecycle_event !== script) return undefined;
  return options.find((name) => process.env[`npm_config_${name.replace('-', '_')}`] === 'true');
}

/**
 * Calls `onGone` once npm has ended, however it did. Without npm never: a parent may well end first.
 * The script begins with `exec`, so that npm is the parent itself and its signals come here: a shell
 * between them would keep SIGINT, and live on when npm is killed.
 */
export function watchNpm(onGone: () => void): void {
  if (process.env.npm_lifecycle_event === undefined) return;
  const npm = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === npm) return;
    clearInterval(watch);
    onGone();
  }, CHECK_MS);
  watch.unref();
}
