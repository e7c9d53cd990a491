/**
 * `npm run soak`: mixed traffic on the production bundle in workerd, every answer checked.
 *
 * It takes 30 seconds, or as many as `-- --seconds 300` says. Exits with 0 when every answer was right
 * and no fault was logged, 1 when not, 2 for invalid arguments.
 */

import { type Command, readArguments, runCommand } from './command-line/command.ts';
import { UserError } from './command-line/project.ts';

const USAGE = `Usage: npm run soak [-- --seconds 30]

Sends mixed traffic to the production bundle in workerd, and checks every answer.`;

/** `npm run soak`. */
export const command: Command<number> = { usage: USAGE, parse: parseSeconds, run: soakFor };

if (import.meta.main) await runCommand(command);

function parseSeconds(args: string[]): number {
  const options = { seconds: { type: 'string', default: '30' } } as const;
  const seconds = Number(readArguments('soak', args, options).values.seconds);
  if (Number.isFinite(seconds) && seconds > 0) return seconds;
  throw new UserError('--seconds must be a number above 0');
}

async function soakFor(seconds: number): Promise<number> {
  const { soak } = await import('./soak/run.ts');
  const { counts, statuses, problems, events, faults } = await soak(seconds);
  const answers = Object.values(statuses).reduce((sum, count) => sum + count, 0);
  const byStatus = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`);
  console.log(
    `answers   ${answers}, ${Math.round(answers / seconds)} per second: ${byStatus.join(', ')}`,
  );
  console.log(
    `requests  ${counts.feed} of the feed, ${counts.ingest} events, ${counts.replay} repeats`,
  );
  console.log(`events    ${events.acknowledged} acknowledged, ${events.stored} stored`);
  console.log(`faults    ${faults} logged`);
  for (const problem of problems) console.error(`wrong     ${problem}`);
  return problems.length === 0 && faults === 0 ? 0 : 1;
}
