/** Shows progress and the remaining time. A terminal shows a bar; any other output gets lines. */

/** Progress is shown only for jobs with at least this many steps. */
const MIN_STEPS = 200;
const STEPS_PER_LINE = 900;
/** Maximum number of progress lines per phase. */
const MAX_LINES = 20;
const STEPS_PER_BAR = 100;
const BAR_CHARACTERS = 30;
/** The remaining time is shown only if it is at least this long, in seconds. */
const MIN_SHOWN_S = 10;

/**
 * Starts to show progress. Each phase, e.g. `listings checked`, gets its own bar. Disposal ends the
 * last bar's line.
 */
export function showProgress(
  output: { isTTY?: boolean; write: (text: string) => boolean },
  now = Date.now,
) {
  let shown: { phase: string; done: number; width: number } | undefined;
  /**
   * The phase's first update. Its count is excluded from the time estimate, because an earlier run
   * may have completed those steps.
   */
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
    // The padding overwrites the rest of a longer line.
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
