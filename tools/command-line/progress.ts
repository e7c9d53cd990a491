/** Shows progress and the time that is left: as a bar on a terminal, and as lines in other output. */

/** Number of steps from which progress is shown. */
const MIN_STEPS = 200;
/** Minimum number of steps between two lines. */
const STEPS_PER_LINE = 900;
/** Maximum number of lines of a phase. */
const MAX_LINES = 20;
const STEPS_PER_BAR = 100;
const BAR_CHARACTERS = 30;
/** Time left, in seconds, from which it is shown. */
const MIN_SHOWN_S = 10;

/** Starts to show progress. Each phase, e.g. `listings checked`, has one bar. Disposal ends its line. */
export function showProgress(
  output: { isTTY?: boolean; write: (text: string) => boolean },
  now = Date.now,
) {
  let shown: { phase: string; done: number; width: number } | undefined;
  /** The first update of the phase. Steps that an earlier run has done take no time of this run. */
  let first = { phase: '', done: 0, at: 0 };
  const end = () => {
    if (output.isTTY && shown !== undefined) output.write('\n');
    shown = undefined;
  };
  const update = (phase: string, done: number, total: number) => {
    if (total < MIN_STEPS) return;
    if (phase !== first.phase) first = { phase, done, at: now() };
    if (phase !== shown?.phase) end();
    const before = shown?.done ?? 0;
    const step = output.isTTY ? total / STEPS_PER_BAR : Math.max(STEPS_PER_LINE, total / MAX_LINES);
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
  if (seconds < MIN_SHOWN_S) return '';
  return seconds < 60
    ? `, about ${Math.round(seconds)} s left`
    : `, about ${Math.round(seconds / 60)} min left`;
}
