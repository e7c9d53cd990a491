/**
 * The OpenAPI document as it is printed, under a linter, and as generators of clients and mocks
 * read it.
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

it('openapi prints the document and nothing else; docs/openapi.json is its copy', async () => {
  const { code, stdout, stderr } = await runHere(command);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toMatchObject({ openapi: expect.stringMatching(/^3\.1\.\d$/) });
  const isCopy = readFileSync('docs/openapi.json', 'utf8') === stdout;
  expect(isCopy, 'Renew it: npm run -s openapi > docs/openapi.json').toBe(true);
});

/** What a caller's program can rely on: the document without its words and examples. */
function digestInterface(): string {
  const WORDS = ['title', 'summary', 'description'];
  const json = JSON.stringify(document, (name, value) => {
    const isWords = typeof value === 'string' && WORDS.includes(name);
    return isWords || ['example', 'examples', 'info'].includes(name) ? undefined : value;
  });
  return hash('sha256', json).slice(0, 12);
}

it('a change of the interface has its line in the changelog, under the version of the document', () => {
  const changelog = readFileSync('CHANGELOG.md', 'utf8');
  expect(changelog).toContain(`\n## [${createOpenApiDocument().info.version}] - 20`);
  const digest = digestInterface();
  expect(
    changelog,
    `The API has changed. Tell its callers in CHANGELOG.md, and write ${digest} in its head`,
  ).toContain(`<!-- The interface of docs/openapi.json: ${digest} -->`);
});

/**
 * Returns the findings of Redocly's recommended rules, and of examples that do not fit their
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

it('passes the linter, as OpenAPI 3.0 for older generators too, and each example fits its schema', async () => {
  expect(await lint(JSON.stringify(document))).toEqual([]);
  const { stdout } = await runHere(command, '--version', '3.0');
  expect(JSON.parse(stdout)).toMatchObject({ openapi: '3.0.3' });
  // Generators would make a class of each.
  expect(stdout).not.toContain('"anyOf"');
  expect(await lint(stdout)).toEqual([]);
});

/** What ECMAScript with its `u` flag, RE2, Java and Python do not read alike. */
const NOT_PORTABLE = /\\[a-wyzA-Z0-9]|\(\?[^:]|[^ -~]/;

it('a pattern is written as ECMAScript, RE2, Java and Python read alike, and says what the code says', () => {
  const patterns: string[] = [];
  JSON.parse(JSON.stringify(document), (key, value) => {
    if (key === 'pattern') patterns.push(value);
    return value;
  });
  expect(patterns.length).toBeGreaterThan(30);
  expect(patterns.filter((pattern) => NOT_PORTABLE.test(pattern))).toEqual([]);
  for (const pattern of patterns) expect(() => new RegExp(pattern, 'u')).not.toThrow();
  const texts = ['', 'a', '7', '_', '-', '/', '\0', 'a\0', '٣', 'é', 'a-7_b', '1/8', '12', 'a/b'];
  for (const written of ['^[\\w-]+$', '^[\\d-]+$', '^[^\\0]*$', '^[1-9]\\d*\\/\\d+$', '\\\\d']) {
    const [ours, theirs] = [new RegExp(written), new RegExp(portablePattern(written), 'u')];
    for (const text of texts) expect(theirs.test(text)).toBe(ours.test(text));
  }
});
