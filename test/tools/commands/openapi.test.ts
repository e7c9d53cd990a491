/**
 * Tests of the OpenAPI document: its copy in docs/, its changelog, and its use by linters and
 * generators.
 */

import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { expect, it } from 'vitest';
import { createOpenApiDocument } from '../../../src/openapi/api-document.ts';
import { portablePattern } from '../../../src/openapi/portable-pattern.ts';
import { command } from '../../../tools/commands/openapi.ts';
import { runHere } from '../../support/node/in-process.ts';

const document: unknown = JSON.parse(JSON.stringify(createOpenApiDocument()));

it('prints exactly the document in docs/openapi.json', async () => {
  const { code, stdout, stderr } = await runHere(command);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toMatchObject({ openapi: expect.stringMatching(/^3\.1\.\d$/) });
  const isCopy = readFileSync('docs/openapi.json', 'utf8') === stdout;
  expect(isCopy, 'Update it: npm run -s openapi > docs/openapi.json').toBe(true);
});

/**
 * Returns a digest of the document. Excludes prose and examples, because no program relies on them.
 */
function digestInterface(): string {
  const PROSE = ['title', 'summary', 'description'];
  const json = JSON.stringify(document, (name, value) => {
    const isProse = typeof value === 'string' && PROSE.includes(name);
    return isProse || ['example', 'examples', 'info'].includes(name) ? undefined : value;
  });
  return hash('sha256', json).slice(0, 12);
}

it('requires a changelog entry when the interface changes', () => {
  const changelog = readFileSync('CHANGELOG.md', 'utf8');
  expect(changelog).toContain(`\n## [${createOpenApiDocument().info.version}] - 20`);
  const digest = digestInterface();
  expect(
    changelog,
    `The API has changed. Tell its callers in CHANGELOG.md, and write ${digest} in its head`,
  ).toContain(`<!-- The interface of docs/openapi.json: ${digest} -->`);
});

/**
 * Returns violations of Redocly's recommended rules, including examples that do not match their
 * schemas.
 */
async function lint(source: string) {
  const config = await createConfig({
    extends: ['recommended-strict'],
    rules: {
      'no-invalid-schema-examples': 'error',
      'no-invalid-parameter-examples': 'error',
      'operation-description': 'error',
      'parameter-description': 'error',
      'operation-singular-tag': 'error',
      'operation-tag-defined': 'error',
    },
  });
  const problems = await lintFromString({ source, config });
  return problems.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`);
}

it('passes the linter, which also validates the examples', async () => {
  expect(await lint(JSON.stringify(document))).toEqual([]);
});

it('passes the linter after its conversion to OpenAPI 3.0', async () => {
  const { stdout } = await runHere(command, '--version', '3.0');
  expect(JSON.parse(stdout)).toMatchObject({ openapi: '3.0.3' });
  // Generators would create a class for each `anyOf`.
  expect(stdout).not.toContain('"anyOf"');
  expect(await lint(stdout)).toEqual([]);
});

/** Matches syntax that ECMAScript with the `u` flag, RE2, Java and Python interpret differently. */
const NOT_PORTABLE = /\\[a-wyzA-Z0-9]|\(\?[^:]|[^ -~]/;

it('uses only patterns that ECMAScript, RE2, Java and Python interpret in the same way', () => {
  const patterns: string[] = [];
  JSON.parse(JSON.stringify(document), (key, value) => {
    if (key === 'pattern') patterns.push(value);
    return value;
  });
  expect(patterns.length).toBeGreaterThan(30);
  expect(patterns.filter((pattern) => NOT_PORTABLE.test(pattern))).toEqual([]);
  for (const pattern of patterns) expect(() => new RegExp(pattern, 'u')).not.toThrow();
});

const TEXTS = ['', 'a', '7', '_', '-', '/', '\0', 'a\0', '٣', 'é', 'a-7_b', '1/8', '12', 'a/b'];

it.each(['^[\\w-]+$', '^[\\d-]+$', '^[^\\0]*$', '^[1-9]\\d*\\/\\d+$', '\\\\d'])(
  'preserves the meaning of the pattern %s',
  (source) => {
    const original = new RegExp(source);
    const portable = new RegExp(portablePattern(source), 'u');
    for (const text of TEXTS) expect(portable.test(text)).toBe(original.test(text));
  },
);
