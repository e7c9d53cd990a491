/** Reports an import to the user. */

import { styleText } from 'node:util';
import { formatCount } from '../../command-line/plurals.ts';
import { printable } from '../../command-line/printable.ts';
import type { AcceptedImport, ImportOutcome } from '../import.ts';
import type { ListingChange } from '../plan/changes.ts';
import type { Effect } from '../plan/plan.ts';
import type { Warning } from '../plan/warnings.ts';
import type { ImportProblem } from '../read/problem.ts';
import { raisesVersion } from '../write/apply.ts';
import { type Hook, notify } from './notify.ts';
import { problemLines } from './problem-lines.ts';

export type ReportOptions = {
  isDryRun: boolean;
  prunes?: boolean;
  /** Whether a dry run lists all changes instead of only the first ones. */
  listsAll: boolean;
  hook: Hook | undefined;
  /** Whether to call the hook even if nothing new appears in the feed. */
  notifiesAlways?: boolean;
};

const MAX_EXAMPLES = 3;
/** Maximum number of changes, and of new listings, that are listed without `--all`. */
const MAX_LISTED = 50;

/** Prints the outcome of an import. Notifies the hook if the import was accepted. */
export async function report(outcome: ImportOutcome, options: ReportOptions, undoCommand?: string) {
  const { effect } = outcome;
  const { isDryRun } = options;
  const isAccepted = outcome.kind === 'accepted';
  // Conflicts come first, because a reviewer looks for values that the store loses.
  const conflicts = isAccepted ? outcome.effect.conflicts : [];
  const overwritten = conflicts.flatMap((conflict) => problemLines([conflict]));
  printErrors(
    'yellow',
    overwritten.map((line) => `Warning: ${line}`),
  );
  if (isAccepted && isDryRun) console.log('Dry run: nothing was written. An import would give:');
  const lines = isAccepted ? summaryLines(outcome, options) : [];
  if (effect && (isAccepted || isDryRun)) lines.push(...changeLines(effect, options));
  if (undoCommand !== undefined) lines.push(`To undo it: ${undoCommand}`);
  for (const line of lines) console.log(line);
  if (effect) {
    const verb = isAccepted && !isDryRun ? 'cleared' : 'would clear';
    const cleared = effect.listings.flatMap((change) => change.cleared);
    printErrors('yellow', warningLines(`Warning: ${verb}`, cleared));
  }
  if (!isAccepted) printErrors('red', rejectionLines(outcome.problems));
  else if (options.hook) await notifyHook(options.hook, outcome, options);
}

/** Prints lines to stderr, in colour on a terminal unless `NO_COLOR` is set. */
function printErrors(colour: 'red' | 'yellow', lines: readonly string[]): void {
  for (const line of lines) console.error(styleText(colour, line, { stream: process.stderr }));
}

function summaryLines({ file, effect }: AcceptedImport, { prunes }: ReportOptions): string[] {
  const { recordChanges, listings } = effect;
  const { notes = [], keptValues = [], valuesPutBack = [] } = file;
  const {
    file: inFile,
    outside = [],
    pruned = [],
  } = Object.groupBy(listings, ({ reason }) => reason);
  const remaining = recordChanges.filter(({ now }) => now !== undefined);
  const { location, amenity } = Object.groupBy(remaining, ({ kind }) => kind);
  const lines = [
    ...notes.map(printable),
    ...summaryLine('listing', file.properties, inFile),
    ...summaryLine('location', file.locations, location),
    ...summaryLine('amenity', file.amenities, amenity),
  ];
  if (outside.length > 0) {
    const count = formatCount(outside.length, 'other listing');
    lines.push(`Rendered again, because their location or amenities changed: ${count}`);
  }
  if (keptValues.length > 0) lines.push(formatKept(keptValues));
  else if (listings.length + recordChanges.length === 0) {
    lines.push('Nothing changed: the store already holds all of it.');
  }
  const warnings = listings.flatMap((change) => change.warnings);
  lines.push(...putBackLines(valuesPutBack));
  lines.push(...warningLines('Worth a look:', warnings));
  if (prunes) {
    const hidden = formatCount(pruned.length, 'listing');
    lines.push(`Hidden, because the file does not name them: ${hidden}`);
  }
  return lines;
}

/**
 * Formats the line about kept values, e.g. `Kept 1 newer value of the store: casa-marea price_from
 * 298000 (289000 in your export)`.
 */
function formatKept(values: readonly string[]): string {
  const head = `Kept ${formatCount(values.length, 'newer value')} of the store`;
  return printable(`${head}: ${formatList(values, MAX_EXAMPLES, '; ')}`);
}

/**
 * Formats the warning about restored values, e.g. `Worth a look: 1 value is back at what was
 * exported: casa-marea price_from 275000 → 289000 (…)`.
 */
function putBackLines(values: readonly string[]): string[] {
  if (values.length === 0) return [];
  const verb = values.length === 1 ? 'is' : 'are';
  const head = `Worth a look: ${formatCount(values.length, 'value')} ${verb} back at what was exported`;
  return [printable(`${head}: ${formatList(values, MAX_EXAMPLES, '; ')}`)];
}

function summaryLine(
  one: string,
  { length: total }: readonly unknown[],
  changes: readonly { old?: unknown }[] = [],
): string[] {
  const added = changes.filter(({ old }) => old === undefined).length;
  const counts = `${added} added, ${changes.length - added} changed, ${total - changes.length} unchanged`;
  return total === 0 ? [] : [`${formatCount(total, one)}: ${counts}`];
}

function changeLines(
  { recordChanges, listings, rejectedValues }: Effect,
  { listsAll }: ReportOptions,
): string[] {
  const line = (name: string, changes: readonly string[]) =>
    printable(`${name}: ${changes.join('; ') || 'rendered again'}`);
  const formatListings = (reason: ListingChange['reason'], head = '') => {
    const sameReason = listings.filter((change) => change.reason === reason);
    const [first, ...others] = sameReason.flatMap(({ old, changes }) =>
      old ? [line(old.slug, changes)] : [],
    );
    return first === undefined ? [] : [`${head}${first}`, ...others];
  };
  const lines = [
    ...formatListings('file'),
    ...recordChanges.flatMap(({ old, name, changes }) => (old ? [line(name, changes)] : [])),
    ...rejectedValues.map(printable),
    ...formatListings('outside', 'Outside the file, because their location or amenities change:\n'),
    ...formatListings('pruned', 'Hidden, because the file does not name them:\n'),
  ];
  const added = listings.filter(({ old }) => old === undefined).map(({ listing }) => listing.slug);
  const most = listsAll ? Number.POSITIVE_INFINITY : MAX_LISTED;
  const more = lines.length - most;
  return [
    ...lines.slice(0, most),
    ...(more > 0 ? [`And ${formatCount(more, 'more change')}: --all lists them`] : []),
    ...(added.length > 0 ? [`New: ${formatList(added, most)}`] : []),
  ];
}

function rejectionLines(problems: readonly ImportProblem[]): string[] {
  const remedies = new Set(problems.flatMap(({ remedy }) => remedy ?? []));
  const total = `${formatCount(problems.length, 'problem')}. Nothing was changed.`;
  return [...problemLines(problems), ...remedies, total];
}

/**
 * Notifies the hook, except in a dry run. A failure is only a warning, because the import has
 * already been done.
 */
async function notifyHook(hook: Hook, outcome: AcceptedImport, options: ReportOptions) {
  const { host } = hook.url;
  const { feedChanges, effect } = outcome;
  const { isDryRun, notifiesAlways } = options;
  const isNew = raisesVersion(effect);
  const changes =
    isNew && feedChanges.length === 0
      ? 'changed locations'
      : formatCount(feedChanges.length, 'change');
  if (!isNew && !notifiesAlways) {
    const tense = isDryRun ? 'would not be' : 'was not';
    console.log(`The feed shows nothing new: ${host} ${tense} notified.`);
  } else if (isDryRun) {
    console.log(`Would notify ${host} of ${changes}.`);
  } else {
    const failure = await notify(hook, outcome);
    const warning = `Warning: ${host} was not notified: ${failure}, three times. The import is done.`;
    if (failure === undefined) console.log(`Notified ${host} of ${changes}.`);
    else printErrors('yellow', [warning]);
  }
}

/**
 * Formats one line per kind of warning, e.g. `Worth a look: public without a photo: 62 listings:
 * casa-a, casa-b, casa-c and 59 more`.
 */
function warningLines(head: string, warnings: readonly Warning[]): string[] {
  const causes = Map.groupBy(warnings, ({ cause }) => cause);
  return [...causes].map(([cause, same]) => {
    const examples = same.map(({ example }) => example);
    const listings = formatCount(same.length, 'listing');
    return printable(`${head} ${cause} ${listings}: ${formatList(examples, MAX_EXAMPLES)}`);
  });
}

function formatList(items: readonly string[], most: number, separator = ', '): string {
  const more = items.length - most;
  return `${items.slice(0, most).join(separator)}${more > 0 ? ` and ${more} more` : ''}`;
}
