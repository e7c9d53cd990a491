/** Figures of several rounds. Pure. */

/** Returns the middle value; of an even number of values, the upper of the two. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Returns how far the middle half of the values lies apart, as a share of their median. */
export function spread(values: readonly number[]): number {
  return (percentile(values, 75) - percentile(values, 25)) / median(values);
}

/** Returns the smallest value that so many percent of the values do not exceed. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil((sorted.length * percent) / 100) - 1)] ?? Number.NaN;
}
