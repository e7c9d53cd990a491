/** Tables in Markdown, to be read on a terminal and pasted into docs/explain/performance.md. Pure. */

export type Column = { title: string; width: number };

/** Returns the first two lines of a table. The first column holds text, the others numbers. */
export function tableHead(columns: readonly Column[]): string {
  const dashes = columns.map(({ width }, index) =>
    index === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return `${tableLine(
    columns,
    columns.map(({ title }) => title),
  )}\n| ${dashes.join(' | ')} |`;
}

/** Returns a line of a table: the first cell is aligned to the left, the others to the right. */
export function tableLine(columns: readonly Column[], cells: readonly string[]): string {
  const padded = columns.map(({ width }, index) => {
    const cell = cells[index] ?? '';
    return index === 0 ? cell.padEnd(width) : cell.padStart(width);
  });
  return `| ${padded.join(' | ')} |`;
}

/** Formats a number as `12,345`, with as many decimals as `digits` says. */
export function number(value: number, digits = 0): string {
  return value.toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}
