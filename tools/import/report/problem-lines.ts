/** Formats the problems of a listings file as one line per cause. */

import { closestMatch, formatCount } from '../../command-line/plurals.ts';
import { printable, quote } from '../../command-line/printable.ts';
import {
  asTyped,
  type FieldProblem,
  findCell,
  formatLocation,
  type ImportProblem,
} from '../read/problem.ts';

const MAX_QUOTED = 5;

/** Returns one line per cause, with the number of problems and the location of the first. */
export function problemLines(problems: readonly ImportProblem[]): string[] {
  // Problems with the same cause differ only in the record, the index and the value.
  const causes = Map.groupBy(problems, ({ location, subject, path, message, hint }) =>
    JSON.stringify([location.kind, subject ?? hideIndexes(path), message, hint]),
  );
  return [...causes.values()].map((similar) => {
    const [first, ...others] = similar;
    if (first === undefined) return '';
    return printable(others.length === 0 ? formatProblem(first) : formatCause(first, similar));
  });
}

/**
 * Formats problems that have the same cause, e.g. `price_from must be a number: 3 listings, first
 * casa-marea (row 2, price_from): "x", "y"`.
 */
function formatCause(first: ImportProblem, all: readonly ImportProblem[]): string {
  const subject = first.subject ?? hideIndexes(findColumn(first));
  const cause = [subject, first.message].filter(Boolean).join(' ');
  const count = formatAffected(all, first.location.kind);
  return `${cause}: ${count}, first ${formatFirst(first)}${formatValues(all)}${formatHint(first)}`;
}

/** Counts the affected records or rows, e.g. `3 listings` or `4 times in 3 rows`. */
function formatAffected(problems: readonly ImportProblem[], kind: string): string {
  const rows = problems.map(({ location, path }) => {
    const cell = findCell(location, path)?.cell;
    return cell === undefined ? formatLocation(location) : `row ${cell.replace(/![A-Z]+/, '!')}`;
  });
  const isInSheet = problems[0]?.location.row !== undefined;
  const rowCount = new Set(rows).size;
  const affected = formatCount(rowCount, isInSheet ? 'row' : kind);
  return problems.length === rowCount ? affected : `${problems.length} times in ${affected}`;
}

function formatFirst(problem: ImportProblem): string {
  const { key } = problem.location;
  const position = formatPosition({
    ...problem,
    location: { ...problem.location, key: undefined },
  });
  if (key === undefined) return position;
  const isInSheet = problem.location.row !== undefined;
  return `${key.value} (${[position, isInSheet ? '' : problem.path].filter(Boolean).join(', ')})`;
}

/** Formats a single problem, e.g. `properties[3] (slug "x"): photos.0.url "htp:/y" must be …`. */
function formatProblem(problem: ImportProblem): string {
  const { subject, message } = problem;
  const subjects = subject === undefined ? [findColumn(problem), quoteValue(problem)] : [subject];
  const text = [...subjects, message].filter(Boolean).join(' ');
  return `${formatPosition(problem)}: ${text}${formatHint(problem)}`;
}

function formatValues(problems: readonly ImportProblem[]): string {
  const values = [...new Set(problems.map(quoteValue))].filter(Boolean);
  const more = values.length > MAX_QUOTED ? ' and others' : '';
  return values.length === 0 ? '' : `: ${values.slice(0, MAX_QUOTED).join(', ')}${more}`;
}

/** Formats the position of a problem with the record's key, e.g. `photos!C12 (slug "x")`. */
function formatPosition({ location, path }: ImportProblem): string {
  return formatLocation({
    ...location,
    position: findCell(location, path)?.cell ?? location.position,
  });
}

function quoteValue({ location, path, value }: ImportProblem): string {
  return quote(typeof value === 'string' ? asTyped(value, location, path) : value);
}

/**
 * Returns the column in which a problem is, e.g. `url` for `photos.0.url`; the path itself if there
 * is no such column.
 */
function findColumn({ location, path }: ImportProblem): string {
  return path === '' ? path : (findCell(location, path)?.column ?? path);
}

/** Replaces the indexes in a path: `photos.0.url` → `photos.*.url`. */
function hideIndexes(path: string): string {
  return path.replace(/\.\d+/g, '.*');
}

/** Formats a problem's hints as the end of its message, e.g. `. Did you mean photos?` */
function formatHint({ unknown, hint }: FieldProblem): string {
  const match = unknown && closestMatch(unknown.name, unknown.knownNames);
  const hints = [hint, match && `Did you mean ${match}?`].filter(Boolean);
  return hints.length === 0 ? '' : `. ${hints.join(' ')}`;
}
