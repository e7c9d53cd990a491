/** Progress, with the time that is left: a bar on a terminal, elsewhere lines. */

/** A shorter job shows nothing. */
const SHOWN_FROM = 200;
/** Steps per line of a short phase. A long phase has twenty lines. */
const STEPS_PER_LINE = 900;
const LINES = 20;
const STEPS_PER_BAR = 100;
const BAR_CHARACTERS = 30;
/** Minimum of the remaining time that is printed. */
const TOLD_FROM_S = 10;

/** Shows a bar for each phase, e.g. `listings checked`. Disposal ends its line. */
export function showProgress(
  output: { isTTY?: boolean; write: (text: string) => boolean },
  now = Date.now,
) {
  let shown: { phase: string; done: number; width: number } | undefined;
  /** The first update of the phase: what was done before took no time of this run. */
  let first = { phase: '', done: 0, at: 0 };
  const end = () => {
    if (output.isTTY && shown !== undefined) output.write('\n');
    shown = undefined;
  };
  const update = (phase: string, done: number, total: number) => {
    if (total < SHOWN_FROM) return;
    if (phase !== first.phase) first = { phase, done, at: now() };
    if (phase !== shown?.phase) end();
    const before = shown?.done ?? 0;
    const step = output.isTTY ? total / STEPS_PER_BAR : Math.max(STEPS_PER_LINE, total / LINES);
    if (done < total && done < before + step) return;
    const filled = Math.floor((BAR_CHARACTERS * done) / total);
    const bar = '█'.repeat(filled).padEnd(BAR_CHARACTERS, '░');
    const leftMs = ((now() - first.at) * (total - done)) / Math.max(1, done - first.done);
    const count = `${done} of ${total} ${phase}${formatLeft(leftMs / 1_000)}`;
    // The blanks clear a longer line.
    output.write(output.isTTY ? `\r${bar} ${count.padEnd(shown?.width ?? 0)}` : `${count}\n`);
    shown = { phase, done, width: count.length };
  };
  return { update, [Symbol.dispose]: end };
}

function formatLeft(seconds: number): string {
  if (seconds < TOLD_FROM_S) return '';
  return seconds < 60
    ? `, about ${Math.round(seconds)} s left`
    : `, about ${Math.round(seconds / 60)} min left`;
}
