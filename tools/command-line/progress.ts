/** The progress of a long job: a bar on a terminal, elsewhere a line at least every 1,000 steps. */

/** A shorter job shows nothing. */
const SHOWN_FROM = 200;
const STEPS_PER_LINE = 1_000;
/** A line is printed this early, because the next update may come this much later. */
const MOST_STEPS_AT_ONCE = 100;
const BAR_CHARACTERS = 30;

type Output = { isTTY?: boolean; write: (text: string) => boolean };

export type Progress = {
  /** `phase` names the steps, such as `listings rendered`. Another phase begins a new bar or line. */
  update: (phase: string, done: number, total: number) => void;
  /** Ends the bar's line. */
  end: () => void;
};

/** Returns a bar if the output is a terminal, else lines; for a job of at least 200 steps. */
export function showProgress(output: Output): Progress {
  const { update, end } = output.isTTY ? bar(output) : lines(output);
  return {
    update: (phase, done, total) => {
      if (total >= SHOWN_FROM) update(phase, done, total);
    },
    end,
  };
}

function bar(output: Output): Progress {
  let shown: string | undefined;
  const end = () => {
    if (shown !== undefined) output.write('\n');
    shown = undefined;
  };
  return {
    update: (phase, done, total) => {
      if (phase !== shown) end();
      const filled = Math.floor((BAR_CHARACTERS * done) / total);
      const cells = '█'.repeat(filled).padEnd(BAR_CHARACTERS, '░');
      output.write(`\r${cells} ${done} of ${total} ${phase}`);
      shown = phase;
    },
    end,
  };
}

function lines(output: Output): Progress {
  let last = { phase: '', done: 0 };
  return {
    update: (phase, done, total) => {
      if (phase !== last.phase) last = { phase, done: 0 };
      if (done < total && done < last.done + STEPS_PER_LINE - MOST_STEPS_AT_ONCE) return;
      output.write(`${done} of ${total} ${phase}\n`);
      last = { phase, done };
    },
    end: () => {},
  };
}
