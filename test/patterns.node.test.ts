/**
 * Every pattern of the code takes linear time: a caller, an editor or a provider may send a text that
 * is long. A pattern is run on inputs of n, 2n and 4n characters, which repeat what it looks for.
 */

import { globSync, readFileSync } from 'node:fs';
import ts from 'typescript';
import { expect, it } from 'vitest';

const LENGTHS = [1_000, 2_000, 4_000] as const;
/** A linear pattern has 4, a quadratic one 16. */
const MAX_GROWTH = 9;
const ATTEMPTS = 5;
/** Shorter runs are noise: a linear pattern takes microseconds, a quadratic one many milliseconds. */
const NOISE_MS = 2;

type Pattern = { file: string; source: string; regExp: RegExp };

function findPatterns(): Pattern[] {
  const files = globSync(['src/**/*.{ts,tsx}', 'tools/**/*.ts']);
  return files.flatMap((file) => {
    const found: Pattern[] = [];
    const visit = (node: ts.Node): void => {
      if (ts.isRegularExpressionLiteral(node)) {
        const [, body = '', flags = ''] = /^\/(.*)\/(\w*)$/s.exec(node.text) ?? [];
        found.push({ file, source: node.text, regExp: new RegExp(body, flags.replace('y', '')) });
      }
      ts.forEachChild(node, visit);
    };
    visit(ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest));
    return found;
  });
}

/** Finds the patterns of the OpenAPI document, many of which the code builds from parts. */
function findDocumentPatterns(): Pattern[] {
  const file = 'docs/openapi.json';
  const sources = new Set<string>();
  JSON.parse(readFileSync(file, 'utf8'), (key, value) => {
    if (key === 'pattern') sources.add(value);
    return value;
  });
  return [...sources].map((source) => ({ file, source, regExp: new RegExp(source) }));
}

/** A character for each class, and each literal character and word. e.g. `\d+\.` → `0`, `.` */
function findPumps(source: string): string[] {
  const classes = {
    '\\d': '0',
    '\\s': ' ',
    '\\w': 'a',
    '\\S': 'a',
    '\\p': 'A',
    '[^': '!',
    '.': 'a',
  };
  const ofClasses = Object.entries(classes).flatMap(([name, sample]) =>
    source.includes(name) ? [sample] : [],
  );
  const literals = source.replaceAll(/\\[bBdDsSwWpPkux]/g, '').match(/[^\\()|?+*{}^$]/g) ?? [];
  const words = source.match(/[a-z]{2,}:?/gi) ?? [];
  return [...new Set([...ofClasses, ...literals, ...words])].slice(0, 20);
}

function makeInputs(source: string) {
  const pumps = findPumps(source);
  const pairs = pumps.slice(0, 8).flatMap((one) => pumps.slice(0, 8).map((other) => one + other));
  // A pattern that begins with `^` meets the repeats behind another character too.
  return [...pumps, ...pairs].flatMap((pump) => ['', 'x'].map((prefix) => ({ pump, prefix })));
}

function measure(regExp: RegExp, text: string): number {
  const startedAt = performance.now();
  text.replace(regExp, '');
  return performance.now() - startedAt;
}

/** The growth from n to 4n, of the fastest of some attempts. */
function growthOf(regExp: RegExp, { pump, prefix }: { pump: string; prefix: string }): number {
  const inputs = LENGTHS.map(
    (length) => `${prefix}${pump.repeat(Math.ceil(length / pump.length))}\u0000`,
  );
  const fastest = inputs.map((text) => measure(regExp, text));
  if ((fastest[2] ?? 0) < NOISE_MS) return 1;
  for (let attempt = 1; attempt < ATTEMPTS; attempt += 1) {
    for (const [index, text] of inputs.entries()) {
      fastest[index] = Math.min(fastest[index] ?? 0, measure(regExp, text));
    }
  }
  const [n = 0, , fourN = 0] = fastest;
  return fourN < NOISE_MS ? 1 : fourN / n;
}

it('a quadratic pattern is found', () => {
  const growth = makeInputs('^ +| +$').map((input) => growthOf(/^ +| +$/g, input));
  expect(Math.max(...growth)).toBeGreaterThan(MAX_GROWTH);
});

it('every pattern of src and tools takes linear time', () => {
  const patterns = [...findPatterns(), ...findDocumentPatterns()];
  expect(patterns.length).toBeGreaterThan(100);
  const slow = patterns.flatMap(({ file, source, regExp }) => {
    const input = makeInputs(source).find((each) => growthOf(regExp, each) > MAX_GROWTH);
    return input === undefined ? [] : [{ file, source, ...input }];
  });
  expect(slow).toEqual([]);
});
