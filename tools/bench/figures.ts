/** Figures of several measurements, and rows of a table for docs/explain/performance.md. */

const NAME_CHARACTERS = 38;
const CELL_CHARACTERS = 8;

export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? Number.NaN;
}

export function printRow(name: string, ...cells: readonly string[]): void {
  const padded = cells.map((cell) => cell.padStart(CELL_CHARACTERS));
  console.log(`| ${[name.padEnd(NAME_CHARACTERS), ...padded].join(' | ')} |`);
}
