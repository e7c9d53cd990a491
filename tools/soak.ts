/**
 * `npm run soak`: mixed traffic on the production bundle in workerd, every answer checked.
 *
 * It takes 30 seconds, or as many as `-- --seconds 300` says. Exits with 0 when every answer was right
 * and no fault was logged, 1 when not, 2 when an argument was not understood.
 */

import { readArguments, understand } from './command-line/arguments.ts';
import { requireKnownEnvironment } from './command-line/wrangler-config.ts';
import { soak } from './soak/run.ts';

requireKnownEnvironment();

const options = { seconds: { type: 'string', default: '30' } } as const;
const values = understand(() => readArguments('soak', process.argv.slice(2), options).values);
if ('problem' in values) {
  console.error(`${values.problem}\nusage: npm run soak -- [--seconds 30]`);
  process.exit(2);
}
const seconds = Number(values.seconds);
if (!Number.isFinite(seconds) || seconds <= 0) {
  console.error('--seconds must be a number above 0');
  process.exit(2);
}

const { counts, statuses, problems, events, faults, memory } = await soak(seconds);
const answers = Object.values(statuses).reduce((sum, count) => sum + count, 0);
const byStatus = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`);
console.log(
  `answers   ${answers}, ${Math.round(answers / seconds)} a second: ${byStatus.join(', ')}`,
);
console.log(
  `requests  ${counts.feed} of the feed, ${counts.ingest} events, ${counts.replay} repeats`,
);
console.log(`events    ${events.acknowledged} acknowledged, ${events.stored} stored`);
console.log(`faults    ${faults} logged`);
const { middle, end, requests } = memory;
const growth = ((end.resident - middle.resident) * 1_024) / requests;
console.log(
  `isolate   ${megabytes(middle.live)} MB held in the middle, ${megabytes(end.live)} at the end`,
);
console.log(
  `workerd   ${megabytes(middle.resident)} MB resident in the middle, ${megabytes(end.resident)} at the end, ${growth.toFixed(1)} KB per request`,
);
for (const problem of problems) console.error(`wrong     ${problem}`);
process.exit(problems.length === 0 && faults === 0 ? 0 : 1);

function megabytes(size: number): string {
  return size.toFixed(1);
}
