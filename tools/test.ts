/**
 * `npm test`: everything that must pass, cheapest first; stops at the first stage that fails and
 * closes with a line that counts tests.
 *
 * `FULL=1` turns on the long forms of the load, fault and crash tests.
 */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';

type Stage = { name: string; command: readonly string[] };

const CHECKS: readonly Stage[] = [
  { name: 'format and lint', command: ['biome', 'ci', '--error-on-warnings', '.'] },
  { name: 'types of the bindings', command: ['npm', 'run', '--silent', 'types', '--', '--check'] },
  { name: 'types', command: ['tsc'] },
  { name: 'migrations in step with the schema', command: ['node', 'tools/check-migrations.ts'] },
];

/** Vitest's projects: see vitest.config.ts. */
const SUITES = ['worker', 'node'] as const;

/** What is read of Vitest's JSON report. */
const report = z.object({
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  numPendingTests: z.int(),
  numFailedTestSuites: z.int(),
});

process.env.CI ??= 'true';
process.env.WRANGLER_SEND_METRICS = 'false';
process.env.CLOUDFLARE_CF_FETCH_ENABLED = 'false';

const reports = mkdtempSync(join(tmpdir(), 'test-reports-'));
const counts = { passed: 0, failed: 0, skipped: 0 };
let ok = CHECKS.every(run);
for (const suite of SUITES) ok = ok && runSuite(suite);
rmSync(reports, { recursive: true });

const failed = ok || counts.failed > 0 ? counts.failed : 1;
const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : '';
console.log(`\n${counts.passed} passed, ${failed} failed${skipped}`);
process.exit(ok ? 0 : 1);

/** Runs a stage with its output shown. A failed check counts as one failed test. */
function run({ name, command }: Stage): boolean {
  console.log(`\n— ${name}`);
  const [program = '', ...args] = command;
  const startedAt = Date.now();
  const { status, error } = spawnSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (error) console.error(error.message);
  console.log(
    `— ${name}: ${status === 0 ? 'ok' : 'FAILED'} (${Math.round((Date.now() - startedAt) / 1000)} s)`,
  );
  return status === 0;
}

function runSuite(project: (typeof SUITES)[number]): boolean {
  const file = join(reports, `${project}.json`);
  const passed = run({
    name: `tests: ${project}`,
    command: [
      ...['vitest', 'run', '--project', project],
      ...['--reporter=default', '--reporter=json', `--outputFile.json=${file}`],
    ],
  });
  const result = readReport(file);
  counts.passed += result?.numPassedTests ?? 0;
  counts.failed += result?.numFailedTests ?? 0;
  counts.skipped += result?.numPendingTests ?? 0;
  return passed && result !== undefined && result.numFailedTestSuites === 0;
}

function readReport(file: string): z.infer<typeof report> | undefined {
  try {
    return report.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    console.error('The suite left no report: it ended before its tests did.');
    return undefined;
  }
}
