/** The OpenAPI document under linters, and its examples under its schemas. */

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createOpenApiDocument } from '../../src/openapi/document.ts';

const run = promisify(execFile);
const scratch = mkdtempSync(join(tmpdir(), 'openapi-'));
const file = join(scratch, 'openapi.json');
const environment = {
  ...process.env,
  REDOCLY_TELEMETRY: 'off',
  REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
};

beforeAll(() => writeFileSync(file, JSON.stringify(createOpenApiDocument())));

afterAll(() => {
  rmSync(scratch, { recursive: true });
});

/** Returns what a linter prints on standard output. It exits with 1 when it finds anything. */
async function lint(command: string, args: readonly string[]): Promise<unknown> {
  const program = join('node_modules', '.bin', command);
  const options = { env: environment, maxBuffer: 1e8 };
  const output = await run(program, args, options).catch((failure: unknown) =>
    z.object({ stdout: z.string().min(1) }).parse(failure),
  );
  return JSON.parse(output.stdout);
}

const spectralFindings = z.array(
  z.object({ code: z.string(), path: z.array(z.union([z.string(), z.number()])) }),
);

/** Runs Spectral's rules for OpenAPI and its OWASP rules. */
async function spectral(): Promise<{ rule: string; path: string }[]> {
  const findings = await lint('spectral', [
    ...['lint', '--quiet', '--format', 'json', '--fail-severity', 'hint'],
    ...['--ruleset', 'test/tools/openapi/spectral.yaml', file],
  ]);
  return spectralFindings
    .parse(findings)
    .map(({ code, path }) => ({ rule: code, path: path.join('.') }));
}

describe('npm run -s openapi', () => {
  it('prints the document and nothing else', async () => {
    const { stdout, stderr } = await run('npm', ['run', '-s', 'openapi'], { maxBuffer: 1e8 });
    expect(JSON.parse(stdout)).toMatchObject({ openapi: expect.stringMatching(/^3\.1\.\d$/) });
    expect(stdout).toBe(`${JSON.stringify(createOpenApiDocument(), null, 2)}\n`);
    expect(stderr).toBe('');
  });
});

describe('the document passes', () => {
  it('Redocly’s recommended rules without a finding', async () => {
    const config = join('test', 'tools', 'openapi', 'redocly.yaml');
    const findings = await lint('redocly', ['lint', '--config', config, '--format', 'json', file]);
    expect(findings).toMatchObject({ totals: { errors: 0, warnings: 0 }, problems: [] });
  });

  it('Spectral’s rules for OpenAPI, and all of its OWASP rules except the ones that the contract excludes', async () => {
    const findings = await spectral();
    const rest = findings.filter(
      ({ rule, path }) => !EXCEPTIONS.some((each) => each.rule === rule && each.path.test(path)),
    );
    expect(rest).toEqual([]);
    for (const { rule, path } of EXCEPTIONS) {
      expect(findings.some((each) => each.rule === rule && path.test(each.path))).toBe(true);
    }
  });
});

/** A schema of answers: none of a request or its payload. */
const OF_ANSWERS = /^components\.schemas\.(Stored\w+|(?!\w+(Request|Payload)\.)\w+)\./;

const HEALTH = /^paths\.\/api\/health(\/detailed)?\.get\./;

/** OWASP findings that remain, each with its reason. */
const EXCEPTIONS = [
  // The rule wants one family of rate-limit headers; the contract sends both, X-RateLimit-* and the
  // IETF draft's.
  { rule: 'owasp:api4:2023-rate-limit', path: /\.responses\.[24]\d\d\.headers$/ },
  // A bound that guards the storage of a value is no form of an answer: mocks made of it are that long.
  ...['string-limit', 'string-restricted', 'array-limit'].map((rule) => ({
    rule: `owasp:api4:2023-${rule}`,
    path: OF_ANSWERS,
  })),
  // A reason is prose: any text.
  {
    rule: 'owasp:api4:2023-string-restricted',
    path: /^components\.schemas\.BookingCancelledPayload\..*reason$/,
  },
  // The number of guests has no bound of its own, and int64 would be a bigint in some clients.
  { rule: 'owasp:api4:2023-integer-format', path: /^components\.schemas\.\w+Payload\..*guests$/ },
  // Timestamps and addresses are bounded by their form, not by a length that is the service's own.
  {
    rule: 'owasp:api4:2023-string-limit',
    path: /^paths\.\/api\/v1\/events\.get\.parameters\.|\.(cancelled_at|occurred_at|guest_email)$/,
  },
  // Health takes no parameter.
  {
    rule: 'owasp:api8:2023-define-error-validation',
    path: /^paths\..*(\/health|\/health\/detailed)\.get\.responses$/,
  },
  // Health is for monitors, which hold no credentials.
  { rule: 'owasp:api2:2023-read-restricted', path: HEALTH },
  { rule: 'owasp:api8:2023-define-error-responses-401', path: HEALTH },
];

describe('every example', () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'document', ...createOpenApiDocument() });

  it('fits its schema', () => {
    const found = mediaTypes(JSON.parse(JSON.stringify(createOpenApiDocument())));
    expect(found.length).toBeGreaterThan(10);
    const faults = found.flatMap(({ pointer, examples }) => {
      const validate = ajv.compile({ $ref: `document#${pointer}/schema` });
      return examples.flatMap((example) =>
        validate(example) ? [] : [`${pointer}: ${ajv.errorsText(validate.errors)}`],
      );
    });
    expect(faults).toEqual([]);
  });
});

/** Returns the media types of the document: each has a schema and examples of it. */
function mediaTypes(value: unknown, pointer = ''): { pointer: string; examples: unknown[] }[] {
  if (typeof value !== 'object' || value === null) return [];
  const within = Object.entries(value).flatMap(([key, each]) =>
    mediaTypes(
      each,
      `${pointer}/${encodeURIComponent(key.replace(/~/g, '~0').replace(/\//g, '~1'))}`,
    ),
  );
  if (!('schema' in value) || !('examples' in value)) return within;
  const examples = z.record(z.string(), z.object({ value: z.unknown() })).parse(value.examples);
  return [{ pointer, examples: Object.values(examples).map((each) => each.value) }, ...within];
}
