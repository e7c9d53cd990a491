/** The journeys of docs/guides/journeys.arazzo.yaml, run step by step against the service by Redocly's respect. */

import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type DevService, startDevService } from '../support/node/dev-service.ts';

const run = promisify(execFile);
const directory = mkdtempSync(join(tmpdir(), 'journeys-'));
const file = join(directory, 'journeys.arazzo.yaml');

const JOURNEYS = ['pageThroughTheFeed', 'sendAndRetry', 'followEvents'];

/** The fields of respect's `--json-output` that are read here. */
const report = z.object({
  files: z.record(
    z.string(),
    z.object({
      executedWorkflows: z.array(z.object({ workflowId: z.string(), status: z.string() })),
    }),
  ),
});

let service: DevService;

beforeAll(async () => {
  copyFileSync('docs/guides/journeys.arazzo.yaml', file);
  const document = await run('npm', ['run', '-s', 'openapi'], { maxBuffer: 1e8 });
  writeFileSync(join(directory, 'openapi.json'), document.stdout);
  service = await startDevService();
});

afterAll(async () => {
  await service?.stop();
  rmSync(directory, { recursive: true });
});

/** Runs every journey of a file, as docs/guides/typed-client.md says. Returns the outcome of each, and what was printed. */
async function respect(path: string, apiKey = service.apiKey) {
  const results = join(directory, 'results.json');
  const output = await run(
    join('node_modules', '.bin', 'redocly'),
    [
      ...['respect', path, '--verbose', '--json-output', results],
      ...['--server', `service=${service.origin}`],
      ...['--input', `apiKey=${apiKey}`],
    ],
    { env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' } },
  ).catch((error: unknown) => z.object({ stdout: z.string(), stderr: z.string() }).parse(error));
  const { files } = report.parse(JSON.parse(readFileSync(results, 'utf8')));
  const outcomes = Object.values(files).flatMap(({ executedWorkflows }) =>
    executedWorkflows.map(({ workflowId, status }) => [workflowId, status]),
  );
  return { outcomes, printed: `${output.stdout}\n${output.stderr}` };
}

describe('the journeys', () => {
  it('pass as they are written', async () => {
    const { outcomes, printed } = await respect(file);
    expect(outcomes, printed).toEqual(JOURNEYS.map((name) => [name, 'success']));
  });

  it('show the error of the service where a step fails', async () => {
    const { outcomes, printed } = await respect(file, 'wrong-key');
    expect(new Set(outcomes.map(([, status]) => status))).toEqual(new Set(['error']));
    expect(printed).not.toContain('wrong-key');
    expect(printed).toContain('authentication_invalid');
  });

  it('fail where a step is wrong', async () => {
    const wrong = join(directory, 'wrong.arazzo.yaml');
    const text = readFileSync(file, 'utf8').replace('== "idempotent"', '== "pending"');
    writeFileSync(wrong, text);
    const { outcomes } = await respect(wrong);
    expect(Object.fromEntries(outcomes)).toMatchObject({
      pageThroughTheFeed: 'success',
      sendAndRetry: 'error',
    });
  });
});
