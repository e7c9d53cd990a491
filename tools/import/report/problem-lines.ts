/** Problems of a listings file in one line for each cause. Pure. */

import { closestMatch, formatCount } from '../../command-line/plurals.ts';
import { printable, quote } from '../../command-line/printable.ts';
import { asTyped, type FieldProblem, formatLocation, type ImportProblem } from '../read/problem.ts';

const SHOWN_VALUES = 5;

/** Returns a line for each cause, with the number of its problems and its first location. */
export function problemLines(problems: readonly ImportProblem[]): string[] {
  // Problems of one cause differ only in the record, the index and the value.
  const causes = Map.groupBy(problems, (each) =>
    JSON.stringify([each.location.kind, each.subject ?? anyEntry(each.path), each.message]),
  );
  return [...causes.values()].map((same) => {
    const [first, ...others] = same;
    if (first === undefined) return '';
    return printable(others.length === 0 ? problemLine(first) : causeLine(first, same));
  });
}

/** e.g. `price_from must be a number: 3 listings, first casa-marea (row 2, price_from): "x", "y"` */
function causeLine(first: ImportProblem, all: readonly ImportProblem[]): string {
  const subject = first.subject ?? anyEntry(pathIn(first));
  const cause = [subject, first.message].filter(Boolean).join(' ');
  const examples = formatExamples(all);
  return `${cause}: ${formatAffected(all, first.location.kind)}, first ${formatFirst(first)}${examples}${suggest(first)}`;
}

/** e.g. `3 listings`, `4 times in 3 rows` */
function formatAffected(problems: readonly ImportProblem[], kind: string): string {
  const rows = problems.map(({ location, path }) => {
    const cell = location.findCell?.(path).cell;
    return cell === undefined ? formatLocation(location) : `row ${cell.replace(/![A-Z]+/, '!')}`;
  });
  const isInSheet = problems[0]?.location.findCell !== undefined;
  const records = formatCount(new Set(rows).size, isInSheet ? 'row' : kind);
  return problems.length === Number.parseInt(records, 10)
    ? records
    : `${problems.length} times in ${records}`;
}

function formatFirst(problem: ImportProblem): string {
  const { key } = problem.location;
  const position = formatPosition({
    ...problem,
    location: { ...problem.location, key: undefined },
  });
  if (key === undefined) return position;
  const isInSheet = problem.location.findCell !== undefined;
  return `${key.value} (${[position, isInSheet ? '' : problem.path].filter(Boolean).join(', ')})`;
}

/** e.g. `properties[3] (slug "x"): photos.0.url "htp:/y" must be …` */
function problemLine(problem: ImportProblem): string {
  const { subject } = problem;
  const about = [subject ?? pathIn(problem), subject === undefined ? quoteValue(problem) : ''];
  const message = [...about, problem.message];
  return `${formatPosition(problem)}: ${message.filter(Boolean).join(' ')}${suggest(problem)}`;
}

function formatExamples(problems: readonly ImportProblem[]): string {
  const all = [...new Set(problems.map(quoteValue))].filter(Boolean);
  const more = all.length > SHOWN_VALUES ? ' and others' : '';
  return all.length === 0 ? '' : `: ${all.slice(0, SHOWN_VALUES).join(', ')}${more}`;
}

/** e.g. `photos!C12 (slug "x")` */
function formatPosition({ location, path }: ImportProblem): string {
  return formatLocation({
    ...location,
    position: location.findCell?.(path).cell ?? location.position,
  });
}

function quoteValue({ location, path, value }: ImportProblem): string {
  return quote(typeof value === 'string' ? asTyped(value, location, path) : value);
}

/** Returns the column of a cell, e.g. `url` for `photos.0.url`, or the path. */
function pathIn({ location, path }: ImportProblem): string {
  return location.findCell === undefined || path === '' ? path : location.findCell(path).column;
}

/** e.g. `photos.0.url` → `photos.*.url` */
function anyEntry(path: string): string {
  return path.replace(/\.\d+/g, '.*');
}

/** e.g. `: did you mean photos?` */
function suggest({ unknown }: FieldProblem): string {
  const found = unknown && closestMatch(unknown.name, unknown.knownNames);
  return found === undefined ? '' : `: did you mean ${found}?`;
}
