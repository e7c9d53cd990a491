/** Checks that the documents match the code and that their links work. */

import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { SCOPES } from '../../src/auth/named-keys.ts';
import { EVENT_TYPES } from '../../src/events/event-types.ts';
import { ERROR_CODES as ERRORS } from '../../src/http/errors.ts';
import { property } from '../../src/properties/openapi/property.ts';
import { document, findProblems, getQueryNames } from '../support/documented.ts';
import {
  CONFORMANCE,
  DOCUMENTS,
  getAnchors,
  getCodeBlocks,
  getCodes,
  getProse,
  getTable,
  getTables,
  readDocument,
} from '../support/markdown.ts';
import { TEST_VARS } from '../support/vars.ts';

const REFERENCE = 'docs/reference';
const OPERATIONS = 'docs/operate/operations.md';
/** Matches a file or folder of the project. `NAME` stands for a name that the reader chooses. */
const PATH =
  /^(?:(?:src|tools|test|migrations|docs|\.ci)\/[\w./*{}-]*|wrangler\.toml|package\.json)$/;

describe('the documents', () => {
  it('link only to documents and headings that exist', () => {
    const isDead = (path: string, target: string) => {
      const [file = '', anchor] = target.split('#');
      const linkedPath = file === '' ? path : join(dirname(path), file);
      return (
        !existsSync(linkedPath) ||
        (anchor !== undefined && !getAnchors(linkedPath).includes(anchor))
      );
    };
    const deadLinks = [...DOCUMENTS, CONFORMANCE].flatMap((path) =>
      [...getProse(path).matchAll(/\]\(([^)]+)\)/g)]
        .map(([, target = '']) => target.replaceAll(/\s/g, ''))
        .filter((target) => !/^https?:/.test(target) && isDead(path, target))
        .map((target) => `${path}: ${target}`),
    );
    expect(deadLinks).toEqual([]);
  });

  it('name only files and folders that exist', () => {
    const paths = DOCUMENTS.flatMap((path) => getCodes(getProse(path))).filter(
      (code) => PATH.test(code) && !/NAME/.test(code),
    );
    expect(findMissing(paths)).toEqual([]);
  });

  it('include every document that the code mentions', () => {
    const paths = globSync('{src,tools,test}/{,**/}*.ts').flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/\bdocs\/[\w/-]+\.md/g)].map(
        ([document]) => document,
      ),
    );
    expect(findMissing(paths)).toEqual([]);
  });

  it('are all linked from docs/README.md', () => {
    expect(readDocument('README.md')).toContain('](docs/README.md)');
    const linkedPaths = [...readDocument('docs/README.md').matchAll(/\]\(([^)#]+)\)/g)].map(
      ([, path = '']) => join('docs', path),
    );
    const others = DOCUMENTS.filter((path) => !path.endsWith('README.md'));
    expect(others.filter((path) => !linkedPaths.includes(path))).toEqual([]);
  });
});

it('docs/explain/architecture.md names only functions and files that exist', () => {
  const files = globSync('{src,tools}/{,**/}*.ts');
  const source = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  const names = getCodes(getProse('docs/explain/architecture.md')).filter((code) =>
    /^#?[A-Za-z_.#]+$|^[\w/-]+\.ts$/.test(code),
  );
  const isMissing = (name: string) =>
    name.endsWith('.ts')
      ? !files.some((file) => file === name || file.endsWith(`/${name}`))
      : name.split('.').some((part) => !new RegExp(`(?<!\\w)${part}(?!\\w)`).test(source));
  expect(names.filter(isMissing)).toEqual([]);
});

function findMissing(paths: readonly string[]): string[] {
  return paths.filter((path) => globSync(path).length === 0);
}

describe('the tables in the documents', () => {
  const readRows = (path: string, head: string) => getTable(path, head).rows;

  it('list every payload field of every event type', () => {
    // The text above the table describes `booking.updated`, which has the fields of `booking.created`.
    const { 'booking.updated': _, ...types } = EVENT_TYPES;
    const fields = Object.entries(types).flatMap(([type, payload]) =>
      Object.keys(payload().shape).map((field) => `\`${type}\` \`${field}\``),
    );
    const rows = readRows(`${REFERENCE}/events.md`, '`event_type`');
    expect(rows.map(([type, field]) => `${type} ${field}`)).toEqual(fields);
  });

  it('list every field of a property', () => {
    const rows = readRows(`${REFERENCE}/property-feed.md`, 'field of a property');
    const fields = rows.flatMap(([names = '']) => getCodes(names));
    expect(fields.sort()).toEqual(Object.keys(property.shape).sort());
  });

  it('list every error code with its status and type', () => {
    const rows = readRows(`${REFERENCE}/conventions.md`, '`code`');
    const errors = Object.entries(ERRORS).map(([code, { status, type }]) => [
      `\`${code}\``,
      String(status),
      `\`${type}\``,
    ]);
    expect(rows.map((row) => row.slice(0, 3)).sort()).toEqual(errors.sort());
  });

  it('list every scope', () => {
    const rows = readRows('docs/operate/keys.md', 'scope');
    expect(rows.flatMap(([scope = '']) => getCodes(scope)).sort()).toEqual([...SCOPES].sort());
  });

  it('list every var of wrangler.toml with its default', () => {
    const [, section = ''] = readFileSync('wrangler.toml', 'utf8').split('\n[vars]\n');
    const [sharedVars = ''] = section.split(/^\[/m);
    const defaults: Readonly<Record<string, string>> = TEST_VARS;
    const vars = [...sharedVars.matchAll(/^(\w+) = "(.*)"$/gm)].map(([, name = '', set]) => {
      // The operator may have changed the value in wrangler.toml.
      const value = defaults[name] ?? set;
      return [`\`${name}\``, value === '' ? 'none' : `\`${value}\``];
    });
    expect(vars.length).toBeGreaterThan(5);
    const rows = readRows(OPERATIONS, 'var').map((row) => row.slice(0, 2));
    expect(rows.sort()).toEqual(vars.sort());
  });

  it('list every query parameter of every operation', () => {
    const queries = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.keys(item).map((method) => [
        `query of \`${method.toUpperCase()} ${path}\``,
        getQueryNames(path, method).sort(),
      ]),
    );
    const tables = DOCUMENTS.flatMap(getTables)
      .filter(({ heads: [head = ''] }) => head.startsWith('query of '))
      .map(({ heads, rows }) => [heads[0], rows.flatMap(([names = '']) => getCodes(names)).sort()]);
    expect(tables.sort()).toEqual(queries.filter(([, names = []]) => names.length > 0).sort());
  });
});

describe('every JSON example in docs/reference', () => {
  it('matches a schema of the OpenAPI document', () => {
    // Payload schemas would match every example, because a payload may have any fields.
    const isPayload = (name: string) => name.endsWith('Payload');
    const schemas = Object.entries(document.components.schemas).filter(
      ([name]) => !isPayload(name),
    );
    const examples = globSync(`${REFERENCE}/*.md`)
      .flatMap((path) => getCodeBlocks(path, 'json'))
      .map((text) => JSON.parse(text))
      .filter((example) => 'object' in example || 'error' in example);
    expect(examples.length).toBeGreaterThan(5);
    const unknown = examples.filter((example) =>
      schemas.every(([, schema]) => findProblems(schema, example).length > 0),
    );
    expect(unknown).toEqual([]);
  });
});

it('documents mention exactly the scripts in package.json', () => {
  const { scripts } = z
    .object({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(readFileSync('package.json', 'utf8')));
  const text = DOCUMENTS.map(readDocument).join('\n');
  const names = [...text.matchAll(/npm run (?:-s )?([a-z][\w-]*)/g)].map(([, name = '']) => name);
  expect([...new Set(['test', ...names])].sort()).toEqual(Object.keys(scripts).sort());
});
