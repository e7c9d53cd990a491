/** The documents agree with the code, and their links lead somewhere. */

import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { CATALOGUE as EVENT_KINDS } from '../../src/events/catalogue.ts';
import { storedEventOfAnyKind } from '../../src/events/openapi/resource.ts';
import { event } from '../../src/events/resource.ts';
import { detailedHealth, health } from '../../src/health/openapi/resource.ts';
import { CATALOGUE as ERRORS } from '../../src/http/errors.ts';
import { errorResource } from '../../src/openapi/error-resource.ts';
import { changeList } from '../../src/properties/openapi/change-list.ts';
import { locationResource, property } from '../../src/properties/resource.ts';
import { TEST_VARS } from '../support/vars.ts';
import {
  anchorsOf,
  codeBlocksOf,
  codesIn,
  DOCUMENTS,
  proseOf,
  tableOf,
  tablesOf,
  textOf,
} from './markdown.ts';

describe.each(DOCUMENTS)('%s', (path) => {
  it('links to documents and headings that exist', () => {
    const links = [...proseOf(path).matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) =>
      target.replaceAll(/\s/g, ''),
    );
    const dead = links
      .filter((target) => !/^https?:/.test(target))
      .filter((target) => {
        const [file = '', anchor] = target.split('#');
        const found = file === '' ? path : join(dirname(path), file);
        return !existsSync(found) || (anchor !== undefined && !anchorsOf(found).includes(anchor));
      });
    expect(dead).toEqual([]);
  });

  /** `NAME` stands for a name that the reader chooses. */
  it('names files and folders that exist', () => {
    const named = codesIn(proseOf(path)).filter((code) =>
      /^(src|tools|test|migrations|docs|\.ci)\/[\w./*{}-]*$/.test(code),
    );
    const real = named.filter((name) => !name.includes('NAME'));
    expect(real.filter((name) => globSync(name).length === 0)).toEqual([]);
  });
});

describe('the README', () => {
  it('leads to every document', () => {
    const missing = DOCUMENTS.filter((path) => path !== 'README.md').filter(
      (path) => !textOf('README.md').includes(`](${path})`),
    );
    expect(missing).toEqual([]);
  });
});

describe('the code', () => {
  it('refers to documents that exist', () => {
    const dead = globSync('{src,tools,test}/**/*.ts').flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/\bdocs\/[\w/-]+\.md/g)]
        .map(([document]) => document)
        .filter((document) => !existsSync(document))
        .map((document) => `${file}: ${document}`),
    );
    expect(dead).toEqual([]);
  });
});

describe('docs/reference/events.md', () => {
  it('has each kind of event with each field of its payload, and no more', () => {
    const kinds = Object.entries(EVENT_KINDS).flatMap(([kind, { shape }]) => {
      const fields = Object.keys(shape);
      return fields.length === 0 ? [`${kind} —`] : fields.map((field) => `${kind} ${field}`);
    });
    const { rows } = tableOf('docs/reference/events.md', '`event_type`');
    expect(rows.map(([kind, field]) => `${kind} ${field}`.replaceAll('`', ''))).toEqual(kinds);
    for (const [kind, field, value] of rows) expect(value, `${kind} ${field}`).toMatch(/\w/);
  });
});

describe('docs/reference/property-feed.md', () => {
  it('has each field of a property, in the order of the resource, and no more', () => {
    const { rows } = tableOf('docs/reference/property-feed.md', 'field of a property');
    expect(rows.flatMap(([fields = '']) => codesIn(fields)).sort()).toEqual(
      Object.keys(property.shape).sort(),
    );
  });
});

describe('docs/reference/conventions.md', () => {
  it('has each error code with its status and type, and no more', () => {
    const { rows } = tableOf('docs/reference/conventions.md', '`code`');
    const told = rows.map(([code, status, type]) => [code, status, type].join(' '));
    expect(told.sort()).toEqual(
      Object.entries(ERRORS)
        .map(([code, { status, type }]) => `\`${code}\` ${status} \`${type}\``)
        .sort(),
    );
  });
});

const parameter = z.object({ name: z.string(), in: z.string() });
const reference = z.object({ $ref: z.string() });
const openApi = z
  .object({
    paths: z.record(
      z.string(),
      z.record(
        z.string(),
        z.object({
          security: z.array(z.record(z.string(), z.unknown())),
          'x-scope': z.string().optional(),
          parameters: z.array(z.union([parameter, reference])).default([]),
        }),
      ),
    ),
    components: z.object({ parameters: z.record(z.string(), parameter) }),
  })
  .parse(JSON.parse(execFileSync('npm', ['run', '-s', 'openapi'], { encoding: 'utf8' })));

const operations = Object.entries(openApi.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, { parameters, security, 'x-scope': scope }]) => ({
    scopes: scope === undefined ? [] : [scope],
    credentials: security.flatMap((each) => Object.keys(each)),
    operation: `${method.toUpperCase()} ${path}`,
    query: parameters
      .map((each) => ('name' in each ? each : openApi.components.parameters[idOf(each.$ref)]))
      .flatMap((each) => (each?.in === 'query' ? [each.name] : [])),
  })),
);

function idOf(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

describe('a query parameter', () => {
  const tables = DOCUMENTS.flatMap(tablesOf);

  it.each(operations.filter(({ query }) => query.length > 0))(
    'of $operation has its row, and no row is too many',
    ({ operation, query }) => {
      const found = tables.filter(({ heads }) => heads[0] === `query of \`${operation}\``);
      expect(found).toHaveLength(1);
      const told = found.flatMap(({ rows }) => rows.flatMap(([names = '']) => codesIn(names)));
      expect(told.sort()).toEqual([...query].sort());
    },
  );

  it('has no table for an operation that does not exist', () => {
    const known = operations.map(({ operation }) => `query of \`${operation}\``);
    const told = tables.map(({ heads }) => heads[0] ?? '').filter((head) => /^query of/.test(head));
    expect(told.filter((head) => !known.includes(head))).toEqual([]);
  });
});

describe('docs/reference/authentication.md', () => {
  const HEADERS = new Map([
    ['apiKey', 'x-api-key'],
    ['bearer', 'Authorization: Bearer'],
  ]);

  it('has each operation with the credentials that it accepts, and no more', () => {
    const { rows } = tableOf('docs/reference/authentication.md', 'operation');
    const told = rows.flatMap(([names = '', accepted = '', scope = '']) =>
      codesIn(names).map((name) =>
        [pathPattern(name), ...codesIn(accepted), ...codesIn(scope)].join(' '),
      ),
    );
    const known = operations.map(({ operation, credentials, scopes }) =>
      [pathPattern(operation), ...credentials.map((each) => HEADERS.get(each)), ...scopes].join(
        ' ',
      ),
    );
    expect(told.sort()).toEqual(known.sort());
  });

  /** The parameters of a path have other names in OpenAPI. */
  function pathPattern(operation: string): string {
    return operation.replaceAll(/\{\w+\}|:[\w-]+/g, ':');
  }
});

describe('an example of an answer', () => {
  /** The examples of each document, in order. A list without items shows the form of every list. */
  const EXAMPLES: [string, z.ZodType[]][] = [
    ['docs/reference/conventions.md', [errorResource, z.looseObject({}), health, detailedHealth]],
    ['docs/reference/events.md', [event, storedEventOfAnyKind]],
    ['docs/reference/property-feed.md', [changeList, locationResource]],
  ];
  const examplesOf = (path: string): unknown[] =>
    codeBlocksOf(path, 'json').map((text) => JSON.parse(text));

  it.each(EXAMPLES)('is one that the service may give: %s', (path, schemas) => {
    const examples = examplesOf(path);
    expect(examples).toHaveLength(schemas.length);
    for (const [index, schema] of schemas.entries()) {
      expect(schema.parse(examples[index])).toEqual(examples[index]);
    }
  });
});

describe('docs/operate/operations.md', () => {
  it('has each var of wrangler.toml with its default, and no more', () => {
    const [, section = ''] = textOf('wrangler.toml').split('\n[vars]\n');
    const [own = ''] = section.split(/^\[/m);
    const defaults: Readonly<Record<string, string>> = TEST_VARS;
    const vars = [...own.matchAll(/^(\w+) = "(.*)"$/gm)].map(([, name = '', set]) => {
      // An operator may have set another value.
      const value = defaults[name] ?? set;
      return `\`${name}\` ${value === '' ? 'none' : `\`${value}\``}`;
    });
    expect(vars.length).toBeGreaterThan(5);
    const { rows } = tableOf('docs/operate/operations.md', 'var');
    expect(rows.map(([name, value]) => `${name} ${value}`).sort()).toEqual(vars.sort());
  });
});

describe('a script of package.json', () => {
  const { scripts } = z
    .object({ scripts: z.record(z.string(), z.string()) })
    .parse(JSON.parse(textOf('package.json')));
  const all = DOCUMENTS.map(textOf).join('\n');

  it.each(Object.keys(scripts))('is described in a document: %s', (name) => {
    expect(all).toMatch(name === 'test' ? /npm test\b/ : new RegExp(`npm run (-s )?${name}\\b`));
  });

  it('is there for each command that a document names', () => {
    const named = [...all.matchAll(/npm run (?:-s )?([a-z][\w-]*)/g)].map(([, name = '']) => name);
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });
});
