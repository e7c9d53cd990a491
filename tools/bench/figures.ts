/** Figures of several rounds, and tables of them in Markdown, to be pasted into docs/explain/performance.md. Pure. */

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Returns the range of the middle half of the values, as a share of their median. */
export function spread(values: readonly number[]): number {
  return (percentile(values, 75) - percentile(values, 25)) / median(values);
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? Number.NaN;
}

export type Column = { title: string; width: number };

/** Returns the first two lines of a table. The first column holds text, the others numbers. */
export function tableHead(columns: readonly Column[]): string {
  const titles = columns.map(({ title }) => title);
  const dashes = columns.map(({ width }, index) =>
    index === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return `${tableLine(columns, titles)}\n| ${dashes.join(' | ')} |`;
}

export function tableLine(columns: readonly Column[], cells: readonly string[]): string {
  const padded = columns.map(({ width }, index) => {
    const cell = cells[index] ?? '';
    return index === 0 ? cell.padEnd(width) : cell.padStart(width);
  });
  return `| ${padded.join(' | ')} |`;
}

/** e.g. `12,345.6` */
export function number(value: number, decimals = 0): string {
  return value.toLocaleString('en-US', {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
}
