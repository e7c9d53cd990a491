/** Figures of several rounds, and tables for docs/explain/performance.md. Pure. */

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** The middle half of the values, as a share of their median. */
export function computeSpread(values: readonly number[]): number {
  return (percentile(values, 75) - percentile(values, 25)) / median(values);
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? Number.NaN;
}

/** Prints tables whose columns are as wide as their titles, e.g. `name     |   rate`. */
export function createTable(titles: string) {
  const widths = titles.split(' | ').map(({ length }) => length);
  const dashes = widths.map((width, column) => (column === 0 ? '-' : ':').padStart(width, '-'));
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return {
    printHead: () => console.log(`| ${titles} |\n${line(dashes)}`),
    print: (name: string, ...cells: readonly string[]) => {
      const padded = cells.map((cell, column) => cell.padStart(widths[column + 1] ?? 0));
      console.log(line([name.padEnd(widths[0] ?? 0), ...padded]));
    },
  };
}
