/** Progress: a bar on a terminal, elsewhere a line at least every 1,000 steps. */

/** A shorter job shows nothing. */
const SHOWN_FROM = 200;
/** The update after these steps may come 100 steps later. */
const STEPS_PER_LINE = 900;
const STEPS_PER_BAR = 100;
const BAR_CHARACTERS = 30;

/** A phase, e.g. `listings checked`, has one bar. Disposal ends its line. */
export function showProgress(output: { isTTY?: boolean; write: (text: string) => boolean }) {
  let shown: { phase: string; done: number } | undefined;
  const end = () => {
    if (output.isTTY && shown !== undefined) output.write('\n');
    shown = undefined;
  };
  const update = (phase: string, done: number, total: number) => {
    if (total < SHOWN_FROM) return;
    if (phase !== shown?.phase) end();
    const before = shown?.done ?? 0;
    const step = output.isTTY ? total / STEPS_PER_BAR : STEPS_PER_LINE;
    if (done < total && done < before + step) return;
    const filled = Math.floor((BAR_CHARACTERS * done) / total);
    const bar = '█'.repeat(filled).padEnd(BAR_CHARACTERS, '░');
    const count = `${done} of ${total} ${phase}`;
    output.write(output.isTTY ? `\r${bar} ${count}` : `${count}\n`);
    shown = { phase, done };
  };
  return { update, [Symbol.dispose]: end };
}
