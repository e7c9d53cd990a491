/** Writes the lines that report an import to the user of a command. */

import type { ChangedListing, Counts, Findings, ImportOutcome } from './import.ts';
import { type Hook, notify } from './notify.ts';
import type { Pruning } from './plan.ts';
import { counted, type ImportProblem, printable, problemLines } from './problem.ts';

type Accepted = Extract<ImportOutcome, { kind: 'accepted' }>;

/** The most slugs after a count of listings, and in the list of new ones. */
const NAMED = 3;
const NAMED_NEW = 50;

const KNOWN_ONES =
  'The first lines of `npm run -s export-listings` are the known locations and amenities; docs/guides/listings-file.md says how to add one.';

/** Prints the outcome: results to stdout, warnings and problems to stderr. */
export function printOutcome(
  outcome: ImportOutcome,
  { isDryRun, pruning }: { isDryRun: boolean; pruning: Pruning },
): void {
  const { findings } = outcome;
  const isAccepted = outcome.kind === 'accepted';
  if (isAccepted && isDryRun) console.log('Dry run: nothing was written. An import would give:');
  if (findings && isDryRun) for (const line of changeLines(findings)) console.log(line);
  if (isAccepted) for (const line of summaryLines(outcome, pruning)) console.log(line);
  const emptied = findings ? emptiedLines(findings, isAccepted && !isDryRun) : [];
  for (const line of [...emptied, ...(isAccepted ? [] : rejectionLines(outcome.problems))]) {
    console.error(line);
  }
}

function summaryLines(outcome: Accepted, pruning: Pruning): string[] {
  const { listings, locations, amenities, quality, affected, pruned } = outcome;
  const lines = [
    ...summaryLine(listings, 'listing'),
    ...summaryLine(locations, 'location'),
    ...summaryLine(amenities, 'amenity'),
  ];
  if (affected > 0) {
    const others = counted(affected, 'other listing');
    lines.push(`Rendered anew, because their location or amenities changed: ${others}`);
  }
  const counts = [listings, locations, amenities];
  if (pruned === 0 && counts.every(({ added, changed }) => added + changed === 0)) {
    lines.push('Nothing changed: the store already holds all of it.');
  }
  const { renamed } = outcome.findings;
  const ofSlugs = { warning: 'another slug, and so another address', slugs: renamed };
  for (const { warning, slugs } of [ofSlugs, ...quality]) {
    if (slugs.length > 0) lines.push(`Worth a look: ${warning}: ${countedListings(slugs)}`);
  }
  if (pruning !== 'none') {
    lines.push(`Hidden, because the file does not name them: ${counted(pruned, 'listing')}`);
  }
  return lines;
}

function changeLines({ added, changed, changedRecords }: Findings): string[] {
  const of = (reason: ChangedListing['reason'], head: string[]) => {
    const lines = changed
      .filter((each) => each.reason === reason)
      .map(({ slug, changes }) => `${slug}: ${changes.join('; ') || 'rendered anew'}`);
    return lines.length === 0 ? [] : [...head, ...lines];
  };
  return [
    ...of('file', []),
    ...changedRecords,
    ...of('outside', ['Outside the file, because their location or amenities change:']),
    ...of('pruned', ['Hidden, because the file does not name them:']),
    ...(added.length === 0 ? [] : [`New: ${named(added, NAMED_NEW)}`]),
  ].map(printable);
}

function emptiedLines({ emptied }: Findings, isDone: boolean): string[] {
  const verb = isDone ? 'emptied' : 'would empty';
  return [...emptied].map(
    ([field, slugs]) => `Warning: ${verb} ${field} of ${countedListings(slugs)}`,
  );
}

/** Returns a line for each cause of the problems, and their number. */
function rejectionLines(problems: readonly ImportProblem[]): string[] {
  const lines = problemLines(problems);
  const kinds = lines.length === problems.length ? '' : ` of ${counted(lines.length, 'kind')}`;
  if (problems.some(({ code }) => code === 'not_known')) lines.push(KNOWN_ONES);
  return [...lines, `${counted(problems.length, 'problem')}${kinds}. Nothing was changed.`];
}

/** Notifies the hook, except in a dry run, and prints the result. A failure is a warning. */
export async function notifyHook(
  hook: Hook,
  { changes, slugs, resumeCursor }: Accepted,
  isDryRun: boolean,
): Promise<void> {
  const { host } = hook.url;
  const counts = counted(changes, 'change');
  if (changes === 0) {
    const tense = isDryRun ? 'would not be' : 'was not';
    console.log(`The feed shows nothing new: ${host} ${tense} notified.`);
  } else if (isDryRun) {
    console.log(`Would notify ${host} of ${counts}.`);
  } else {
    const failure = await notify(hook, { changes, slugs, resumeCursor });
    if (failure === undefined) console.log(`Notified ${host} of ${counts}.`);
    else {
      console.error(
        `Warning: ${host} was not notified: ${failure}, three times. The import is done.`,
      );
    }
  }
}

/** Returns `62 listings: casa-a, casa-b, casa-c and 59 more`. */
function countedListings(slugs: readonly string[]): string {
  return `${counted(slugs.length, 'listing')}: ${named(slugs, NAMED)}`;
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
