/** The lines in which `import-listings` tells its user about an import. */

import type { LoadCommand } from './arguments.ts';
import type { Counts } from './counts.ts';
import type { ImportOutcome } from './import.ts';
import { type Hook, notify } from './notify.ts';
import { type ImportProblem, problemLine } from './problem.ts';

/** The outcome of an import that was done, or would be. */
type Accepted = Extract<ImportOutcome, { kind: 'accepted' }>;

/** Returns what was done, or would be. */
export function summaryLines(
  { listings, locations, amenities, affected, pruned, isRenderingLeft }: Accepted,
  { isDryRun, pruning }: Pick<LoadCommand, 'isDryRun' | 'pruning'>,
): string[] {
  const lines = [
    summaryLine(listings, 'listing', 'listings'),
    summaryLine(locations, 'location', 'locations'),
    summaryLine(amenities, 'amenity', 'amenities'),
  ];
  if (isDryRun) lines.unshift('Dry run: nothing was written. An import would give:');
  if (affected > 0) {
    lines.push(
      `Rendered anew, because their location or amenities changed: ${affected} other listings`,
    );
  }
  if (isRenderingLeft) {
    lines.push(
      'Rendering was interrupted: the rest is rendered when it is read, or by the next import.',
    );
  }
  const written = [listings, locations, amenities].some(
    ({ added, changed }) => added + changed > 0,
  );
  if (!written && pruned === 0) {
    lines.push('Nothing changed: the store already holds all of it.');
  }
  if (pruning !== 'none') {
    lines.push(`Hidden, because the file does not name them: ${counted(pruned, 'listing')}`);
  }
  return lines;
}

/** Returns a line for each problem of a refused file, and their number. */
export function problemLines(problems: readonly ImportProblem[]): string[] {
  const noun = problems.length === 1 ? 'problem' : 'problems';
  return [
    ...problems.map((problem) => visible(problemLine(problem))),
    `${problems.length} ${noun}. Nothing was changed.`,
  ];
}

/** Tells the hook of the changes, or finds what it would be told. Returns what to tell the user. A hook that fails is a warning. */
export async function tellHook(
  hook: Hook,
  { changes, resumeCursor }: Accepted,
  isDryRun: boolean,
): Promise<{ isWarning: boolean; line: string }> {
  const { host } = hook.url;
  if (changes === 0) {
    const tense = isDryRun ? 'would not be' : 'was not';
    return {
      isWarning: false,
      line: `The feed shows nothing new: ${host} ${tense} notified.`,
    };
  }
  const counts = counted(changes, 'change');
  if (isDryRun) return { isWarning: false, line: `Would notify ${host} of ${counts}.` };
  if (resumeCursor === null) {
    return {
      isWarning: true,
      line: `Warning: ${host} was not notified: the database did not say where the changes end.`,
    };
  }
  const { isDelivered, message } = await notify(hook, { changes, resumeCursor });
  return isDelivered
    ? { isWarning: false, line: `${message.slice(0, -1)} of ${counts}.` }
    : { isWarning: true, line: `Warning: ${message}` };
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function summaryLine({ added, changed, unchanged }: Counts, one: string, many: string): string {
  const total = added + changed + unchanged;
  return `${total} ${total === 1 ? one : many}: ${added} added, ${changed} changed, ${unchanged} unchanged`;
}

/** Escapes control characters, so that a file's text cannot steer the terminal or begin a line. */
function visible(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not reach a terminal
    /[\u0000-\u001f\u007f-\u009f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
