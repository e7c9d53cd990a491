/** Shows how far a long job is: a bar on a terminal, elsewhere a line at least every 1,000 steps. */

const STEPS_A_LINE = 1_000;
const BAR_CHARACTERS = 30;

export type Progress = {
  update: (done: number, total: number) => void;
  /** Leaves the terminal's line, so that what follows begins on its own. */
  end: () => void;
};

/** Progress of something counted in `unit`, such as `listings`. */
export function showProgress(output: NodeJS.WriteStream, unit: string): Progress {
  return output.isTTY ? bar(output, unit) : lines(output, unit);
}

function bar(output: NodeJS.WriteStream, unit: string): Progress {
  let isShown = false;
  return {
    update: (done, total) => {
      const filled = Math.round((BAR_CHARACTERS * done) / total);
      const cells = '█'.repeat(filled).padEnd(BAR_CHARACTERS, '░');
      output.write(`\r${cells} ${done} of ${total} ${unit}`);
      isShown = true;
    },
    end: () => {
      if (isShown) output.write('\n');
      isShown = false;
    },
  };
}

function lines(output: NodeJS.WriteStream, unit: string): Progress {
  let shown = 0;
  return {
    update: (done, total) => {
      if (Math.floor(done / STEPS_A_LINE) === Math.floor(shown / STEPS_A_LINE) && done < total)
        return;
      output.write(`${done} of ${total} ${unit}\n`);
      shown = done;
    },
    end: () => {},
  };
}
