/** Figures of several rounds, and tables for docs/explain/performance.md. Pure. */

export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** Returns the range of the middle half of the values, as a share of their median. */
export function spread(values: readonly number[]): number {
  return (percentile(values, 75) - percentile(values, 25)) / median(values);
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? Number.NaN;
}

/** Returns the first two lines of a table. `titles`, e.g. `name |  rate`, set the widths. */
export function tableHead(titles: string): string {
  const [text = '', ...numbers] = titles.split(' | ').map((title) => '-'.repeat(title.length));
  const dashes = [text, ...numbers.map((column) => column.replace(/-$/, ':'))];
  return `| ${titles} |\n| ${dashes.join(' | ')} |`;
}

export function tableLine(titles: string, cells: readonly string[]): string {
  const padded = titles.split(' | ').map(({ length }, index) => {
    const cell = cells[index] ?? '';
    return index === 0 ? cell.padEnd(length) : cell.padStart(length);
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
