/** The parts that generators of clients and mocks read from the OpenAPI document, in any language. */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { createOpenApiDocument } from '../../../src/openapi/document.ts';
import { portablePattern } from '../../../src/openapi/portable-pattern.ts';
import { whyNotPortable } from './portable.ts';

const document: unknown = JSON.parse(JSON.stringify(createOpenApiDocument()));
const { components, paths } = z
  .object({
    components: z.object({ schemas: z.record(z.string(), z.record(z.string(), z.unknown())) }),
    paths: z.record(z.string(), z.record(z.string(), z.unknown())),
  })
  .parse(document);

type Node = { path: string; value: Record<string, unknown>; parents: Record<string, unknown>[] };

/** Every object of the document except the examples, each with the objects around it. */
function nodesOf(value: unknown, path = '', parents: Node['parents'] = []): Node[] {
  if (typeof value !== 'object' || value === null) return [];
  const object = z.record(z.string(), z.unknown()).parse({ ...value });
  const within = Object.entries(object)
    .filter(([key]) => !['example', 'examples'].includes(key))
    .flatMap(([key, each]) => nodesOf(each, `${path}/${key}`, [object, ...parents]));
  return [{ path, value: object, parents }, ...within];
}

const nodes = nodesOf(document);
const patterns = nodes.flatMap(({ path, value }) =>
  typeof value.pattern === 'string' ? [{ path, pattern: value.pattern }] : [],
);

describe('a pattern of the document', () => {
  it('is written as ECMAScript, RE2, Java and Python read alike', () => {
    expect(patterns.length).toBeGreaterThan(30);
    const faults = patterns.flatMap(({ path, pattern }) => {
      const why = whyNotPortable(pattern);
      return why === undefined ? [] : [`${path}: ${pattern}: ${why}`];
    });
    expect(faults).toEqual([]);
  });

  it('compiles with the u flag', () => {
    for (const { pattern } of patterns) expect(() => new RegExp(pattern, 'u')).not.toThrow();
  });

  const python = has('python3', ['--version']);
  it.skipIf(!python)('compiles in Python', () => {
    const program =
      'import json,re,sys,warnings\nwarnings.simplefilter("error")\n[re.compile(p) for p in json.load(sys.stdin)]';
    const input = JSON.stringify(patterns.map(({ pattern }) => pattern));
    expect(execFileSync('python3', ['-c', program], { input }).toString()).toBe('');
  });

  it('says the same as the pattern of the code', () => {
    const texts = ['', 'a', '7', '_', '-', '/', '\0', 'a\0', '٣', 'é', 'a-7_b', '1/8', '12', 'a/b'];
    for (const pattern of [
      '^[\\w-]+$',
      '^\\d+$',
      '^[^\\0]*$',
      '^[1-9]\\d*\\/[1-9]\\d*$',
      '\\\\d',
    ]) {
      const [ours, theirs] = [new RegExp(pattern), new RegExp(portablePattern(pattern), 'u')];
      for (const text of texts) expect(theirs.test(text)).toBe(ours.test(text));
    }
  });

  it.each([
    ['^a\\/b$', 'an escape that is not needed'],
    ['^[^\\0]*$', 'an octal zero'],
    ['^\\d+$', 'digits of every script'],
    ['^[\\w-]+$', 'letters of every script'],
    ['\\S', 'white space, of which each dialect has its own'],
    ['^(?=a)a$', 'a lookahead'],
    ['^(?<name>a)$', 'a named group'],
    ['^a*?$', 'a lazy quantifier'],
    ['^(a)\\1$', 'a reference back'],
    ['^\\p{L}$', 'a property of characters'],
    ['^[a-z&&[^b]]$', 'an intersection'],
    ['^é$', 'a character outside ASCII'],
    ['^(a$', 'a group without an end'],
  ])('is refused when it is %s: %s', (pattern) => {
    expect(whyNotPortable(pattern)).toEqual(expect.any(String));
  });
});

describe('an integer', () => {
  it('is never an int64, which some clients make a bigint', () => {
    const formats = nodes
      .filter(({ value }) => value.type === 'integer')
      .map(({ value }) => value.format ?? 'none');
    expect([...new Set(formats)].sort()).toEqual(['int32', 'none']);
    expect(JSON.stringify(document)).not.toContain('int64');
  });
});

describe('a schema', () => {
  const names = Object.keys(components.schemas);

  it('has a name that shadows no global of a browser or of JavaScript', () => {
    const taken = globalNames();
    expect([...taken]).toEqual(expect.arrayContaining(['Error', 'Event', 'Location']));
    expect(names.filter((name) => taken.has(name))).toEqual([]);
  });

  it.each([
    ['IngestRequest', 'event_type', 'BookingCreatedRequest', 'BookingCancelledRequest'],
    ['StoredEvent', 'type', 'StoredBookingCreated', 'StoredBookingCancelled'],
  ])('%s is told apart by %s', (name, propertyName, created, cancelled) => {
    const refs = [created, cancelled].map((each) => `#/components/schemas/${each}`);
    expect(components.schemas[name]).toMatchObject({
      // A kind that the catalogue gains is a further member.
      oneOf: expect.arrayContaining(refs.map(($ref) => ({ $ref }))),
      discriminator: {
        propertyName,
        mapping: { 'booking.created': refs[0], 'booking.cancelled': refs[1] },
      },
    });
    expect(components.schemas[created]).toMatchObject({
      properties: { [propertyName]: { const: 'booking.created' } },
    });
  });
});

describe('a parameter that lists names', () => {
  const parameter = z.object({ name: z.string(), schema: z.object({ maxItems: z.int() }) });
  const operation = z.object({ parameters: z.array(z.unknown()) });

  it.each([
    ['/api/v1/web/properties', { status: 3, locale: 3 }],
    ['/api/v1/web/properties/{slugOrId}', { locale: 3 }],
    ['/api/v1/web/property-changes', { locale: 3 }],
    ['/api/v1/web/locations', { locale: 3 }],
  ])('of %s has at most three statuses and languages', (path, most) => {
    const { parameters } = operation.parse(paths[path]?.get);
    const lists = parameters.flatMap((each) => parameter.safeParse(each).data ?? []);
    const bounds = Object.fromEntries(lists.map(({ name, schema }) => [name, schema.maxItems]));
    expect(bounds).toMatchObject(most);
  });
});

describe('a value of an answer', () => {
  const ofAnswers = nodes.filter(
    ({ path }) =>
      (path.includes('/responses/') || path.startsWith('/components/')) &&
      !/^\/components\/(parameters|schemas\/\w+(Request|Payload)\b)/.test(path),
  );

  it('has no bound that makes a mock unreadably long', () => {
    const long = ofAnswers.filter(
      ({ value }) => Number(value.maxLength ?? 0) > 2_000 || Number(value.maxItems ?? 0) > 100,
    );
    expect(long.map(({ path }) => path)).toEqual([]);
  });

  it('that is a text has a form or an example', () => {
    const texts = ofAnswers.filter(({ value }) => value.type === 'string');
    expect(texts.length).toBeGreaterThan(50);
    const vague = texts.filter(
      ({ path, value, parents }) =>
        // Headers are short, and no mock makes them field by field.
        !path.startsWith('/components/headers/') &&
        !['enum', 'const', 'format', 'pattern'].some((key) => key in value) &&
        ![value, ...parents].some((each) => 'examples' in each),
    );
    expect(vague.map(({ path }) => path)).toEqual([]);
  });
});

describe('a list', () => {
  const media = z.object({
    examples: z.record(
      z.string(),
      z.object({ value: z.looseObject({ object: z.literal('list') }) }),
    ),
  });
  // The answer to a batch is a list too, and has no further page.
  const lists = nodesOf(paths).flatMap(({ path, value }) => {
    const parsed = media.safeParse(path.includes('/post/') ? undefined : value['application/json']);
    return parsed.success ? [parsed.data] : [];
  });

  it('shows a page that more follow, and a last page', () => {
    expect(lists.length).toBeGreaterThan(1);
    for (const { examples } of lists) {
      const values = Object.values(examples).map(({ value }) => value);
      expect(values).toContainEqual(
        expect.objectContaining({ has_more: true, next_cursor: expect.any(String) }),
      );
      expect(values).toContainEqual(
        expect.objectContaining({ has_more: false, next_cursor: null }),
      );
    }
  });
});

/** The names that TypeScript knows everywhere: names of the language, of browsers and of workers. */
function globalNames(): Set<string> {
  const library = join('node_modules', '@typescript', 'old', 'lib');
  const files = readdirSync(library).filter((name) => /^lib\..*\.d\.ts$/.test(name));
  const declared = files.flatMap((name) => {
    const text = readFileSync(join(library, name), 'utf8');
    const found = text.matchAll(/^(?:declare (?:var|function|type) |interface |type )(\w+)/gm);
    return [...found].map((match) => match[1] ?? '');
  });
  return new Set([...declared, ...Object.getOwnPropertyNames(globalThis)]);
}

/** Reports whether a program is there. */
function has(program: string, args: readonly string[]): boolean {
  try {
    execFileSync(program, args, { stdio: 'ignore' });
    return true;
  } catch {
    console.warn(`There is no ${program}: the tests that need it are skipped.`);
    return false;
  }
}
