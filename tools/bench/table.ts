/** Tables on the terminal, in the form that the README takes them over. Pure. */

export type Column = { title: string; width: number };

/** The first line of a table and the one under it. The first column is a text, the others are numbers. */
export function tableHead(columns: readonly Column[]): string {
  const dashes = columns.map(({ width }, index) =>
    index === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  return `${tableLine(
    columns,
    columns.map(({ title }) => title),
  )}\n| ${dashes.join(' | ')} |`;
}

/** A line of a table: the first cell to the left, the others to the right. */
export function tableLine(columns: readonly Column[], cells: readonly string[]): string {
  const padded = columns.map(({ width }, index) => {
    const cell = cells[index] ?? '';
    return index === 0 ? cell.padEnd(width) : cell.padStart(width);
  });
  return `| ${padded.join(' | ')} |`;
}

/** `12,345`, and small numbers with the digits that tell something. */
export function number(value: number, digits = 0): string {
  return value.toLocaleString('en-US', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}
