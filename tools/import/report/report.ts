/** Writes the lines that report an import to the user of a command. */

import { styleText } from 'node:util';
import type { AcceptedImport, Counts, Findings, ImportOutcome, Pruning } from '../plan/types.ts';
import { counted, type ImportProblem, printable, problemLines } from '../read/problem.ts';
import { type Hook, notify } from './notify.ts';

type Reason = Findings['changed'][number]['reason'];

export type ReportOptions = {
  isDryRun: boolean;
  pruning: Pruning;
  /** A dry run lists all changes, not only the first. */
  listsAll: boolean;
  hook: Hook | undefined;
  /** Whether the hook is notified also when the feed shows nothing new. */
  notifiesAlways: boolean;
};

/** The most slugs after a count of listings. */
const NAMED = 3;
/** The most changes, and new listings, that a dry run lists. */
const LISTED = 50;

const KNOWN_ONES =
  '`npm run -s export-listings -- --names` lists the known locations and amenities; docs/guides/listings-file.md says how to add one.';

/** Prints the outcome, and notifies the hook of an accepted import. */
export async function report(
  outcome: ImportOutcome,
  options: ReportOptions,
  undoCommand?: string,
): Promise<void> {
  printOutcome(outcome, options, undoCommand);
  if (outcome.kind === 'accepted' && options.hook) await notifyHook(options.hook, outcome, options);
}

/** Prints results to stdout, warnings and problems to stderr. */
function printOutcome(outcome: ImportOutcome, options: ReportOptions, undoCommand?: string): void {
  const { findings } = outcome;
  const { isDryRun } = options;
  const isAccepted = outcome.kind === 'accepted';
  if (isAccepted && isDryRun) console.log('Dry run: nothing was written. An import would give:');
  if (isAccepted) for (const line of summaryLines(outcome, options)) console.log(line);
  if (undoCommand !== undefined) console.log(`To undo it: ${undoCommand}`);
  if (findings && isDryRun) for (const line of changeLines(findings, options)) console.log(line);
  if (findings)
    for (const line of emptiedLines(findings, isAccepted && !isDryRun)) printError('yellow', line);
  if (!isAccepted) for (const line of rejectionLines(outcome.problems)) printError('red', line);
}

/** Prints in colour on a terminal, unless `NO_COLOR` is set. */
function printError(colour: 'red' | 'yellow', line: string): void {
  console.error(styleText(colour, line, { stream: process.stderr }));
}

function summaryLines(outcome: AcceptedImport, { pruning }: ReportOptions): string[] {
  const { listings, locations, amenities, findings } = outcome;
  const lines = [
    ...summaryLine(listings, 'listing'),
    ...summaryLine(locations, 'location'),
    ...summaryLine(amenities, 'amenity'),
  ];
  const changedFor = (reason: Reason) =>
    findings.changed.filter((each) => each.reason === reason).length;
  if (changedFor('outside') > 0) {
    const others = counted(changedFor('outside'), 'other listing');
    lines.push(`Rendered again, because their location or amenities changed: ${others}`);
  }
  const { removed } = findings;
  if (removed.length > 0) lines.push(`Removed: ${removed.join(', ')}`);
  const isSame = [listings, locations, amenities].every((each) => each.added + each.changed === 0);
  if (isSame && removed.length + changedFor('pruned') === 0) {
    lines.push('Nothing changed: the store already holds all of it.');
  }
  for (const [warning, slugs] of findings.warnings) {
    lines.push(`Worth a look: ${warning}: ${countedListings(slugs)}`);
  }
  const { warnedBefore } = findings;
  if (warnedBefore > 0) lines.push(`Worth a look, as before: ${counted(warnedBefore, 'listing')}`);
  if (pruning !== 'none') {
    const hidden = counted(changedFor('pruned'), 'listing');
    lines.push(`Hidden, because the file does not name them: ${hidden}`);
  }
  return lines;
}

function changeLines({ added, changed }: Findings, { listsAll }: ReportOptions): string[] {
  const of = (reason: Reason, head = '') =>
    changed
      .filter((each) => each.reason === reason)
      .map(({ name, changes }) => printable(`${name}: ${changes.join('; ') || 'rendered again'}`))
      .map((line, index) => (index === 0 ? `${head}${line}` : line));
  const lines = [
    ...of('file'),
    ...of('shared'),
    ...of('outside', 'Outside the file, because their location or amenities change:\n'),
    ...of('pruned', 'Hidden, because the file does not name them:\n'),
  ];
  const most = listsAll ? Number.POSITIVE_INFINITY : LISTED;
  const more = lines.length - most;
  return [
    ...lines.slice(0, most),
    ...(more > 0 ? [`And ${counted(more, 'more change')}: --all lists them`] : []),
    ...(added.length > 0 ? [`New: ${named(added, most)}`] : []),
  ];
}

function emptiedLines({ emptied }: Findings, isDone: boolean): string[] {
  const verb = isDone ? 'emptied' : 'would empty';
  return [...emptied].map(([head, slugs]) => `Warning: ${verb} ${head} ${countedListings(slugs)}`);
}

/** Returns a line for each cause of the problems, and their number. */
function rejectionLines(problems: readonly ImportProblem[]): string[] {
  const lines = problemLines(problems);
  const kinds = lines.length === problems.length ? '' : ` of ${counted(lines.length, 'kind')}`;
  if (problems.some(({ code }) => code === 'not_known')) lines.push(KNOWN_ONES);
  return [...lines, `${counted(problems.length, 'problem')}${kinds}. Nothing was changed.`];
}

/** Notifies the hook, except in a dry run, and prints the result. A failure is a warning. */
async function notifyHook(
  hook: Hook,
  outcome: AcceptedImport,
  { isDryRun, notifiesAlways }: ReportOptions,
): Promise<void> {
  const { host } = hook.url;
  const counts = counted(outcome.changes, 'change');
  if (outcome.changes === 0 && !notifiesAlways) {
    const tense = isDryRun ? 'would not be' : 'was not';
    console.log(`The feed shows nothing new: ${host} ${tense} notified.`);
  } else if (isDryRun) {
    console.log(`Would notify ${host} of ${counts}.`);
  } else {
    const failure = await notify(hook, outcome);
    const warning = `Warning: ${host} was not notified: ${failure}, three times. The import is done.`;
    if (failure === undefined) console.log(`Notified ${host} of ${counts}.`);
    else printError('yellow', warning);
  }
}

/** Returns `62 listings: casa-a, casa-b, casa-c and 59 more`. */
function countedListings(slugs: readonly string[]): string {
  const names = slugs.length > 0 ? `: ${named(slugs, NAMED)}` : '';
  return `${counted(slugs.length, 'listing')}${names}`;
}

function named(slugs: readonly string[], most: number): string {
  const more = slugs.length - most;
  return `${slugs.slice(0, most).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** Returns no line for records of which the file has none. */
function summaryLine({ added, changed, unchanged }: Counts, one: string): string[] {
  const total = added + changed + unchanged;
  const counts = `${added} added, ${changed} changed, ${unchanged} unchanged`;
  return total === 0 ? [] : [`${counted(total, one)}: ${counts}`];
}
