/**
 * Checks that every regular expression takes linear time, because callers, editors and identity
 * providers can send long text. Each expression runs on inputs of n, 2n and 4n characters that repeat
 * parts of its pattern.
 */

import { globSync, readFileSync } from 'node:fs';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

const LENGTHS = [1_000, 2_000, 4_000] as const;
/**
 * Maximum ratio of the time for 4n characters to the time for n. The ratio is about 4 for a linear pattern
 * and 16 for a quadratic pattern.
 */
const MAX_GROWTH = 9;
const ATTEMPTS = 5;
/** Shorter times are noise. Linear patterns take microseconds, but quadratic patterns take many milliseconds. */
const NOISE_MS = 2;

type Pattern = { file: string; source: string; regExp: RegExp };

/** Returns the patterns in the OpenAPI document, many of which the code builds from parts. */
function findDocumentPatterns(): Pattern[] {
  const file = 'docs/openapi.json';
  const sources = new Set<string>();
  JSON.parse(readFileSync(file, 'utf8'), (key, value) => {
    if (key === 'pattern') sources.add(value);
    return value;
  });
  return [...sources].map((source) => ({ file, source, regExp: new RegExp(source) }));
}

/**
 * Returns the strings that the inputs repeat: a sample of each character class, the literal characters
 * and the literal words. For `\d+\.`, these are `0` and `.`.
 */
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
  const classSamples = Object.entries(classes).flatMap(([name, sample]) =>
    source.includes(name) ? [sample] : [],
  );
  const literals = source.replaceAll(/\\[bBdDsSwWpPkux]/g, '').match(/[^\\()|?+*{}^$]/g) ?? [];
  const literalWords = source.match(/[a-z]{2,}:?/gi) ?? [];
  return [...new Set([...classSamples, ...literals, ...literalWords])].slice(0, 20);
}

function makeInputs(source: string) {
  const pumps = findPumps(source);
  const pairs = pumps.slice(0, 8).flatMap((one) => pumps.slice(0, 8).map((other) => one + other));
  // A pattern that begins with `^` must also be tried where another character comes first.
  return [...pumps, ...pairs].flatMap((pump) => ['', 'x'].map((prefix) => ({ pump, prefix })));
}

function measure(regExp: RegExp, text: string): number {
  const startedAt = performance.now();
  text.replace(regExp, '');
  return performance.now() - startedAt;
}

/** Returns the ratio of the time for 4n characters to the time for n. Uses the fastest of several attempts. */
function measureGrowth(regExp: RegExp, { pump, prefix }: { pump: string; prefix: string }): number {
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

function findPatterns(): Pattern[] {
  const files = globSync(['src/**/*.{ts,tsx}', 'tools/**/*.ts']);
  return files.flatMap((file) => {
    const patterns: Pattern[] = [];
    const visit = (node: ts.Node): void => {
      if (ts.isRegularExpressionLiteral(node)) {
        const [, body = '', flags = ''] = /^\/(.*)\/(\w*)$/s.exec(node.text) ?? [];
        patterns.push({
          file,
          source: node.text,
          regExp: new RegExp(body, flags.replace('y', '')),
        });
      }
      ts.forEachChild(node, visit);
    };
    visit(ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest));
    return patterns;
  });
}

describe('the measurement', () => {
  it('finds a quadratic pattern', () => {
    const growth = makeInputs('^ +| +$').map((input) => measureGrowth(/^ +| +$/g, input));
    expect(Math.max(...growth)).toBeGreaterThan(MAX_GROWTH);
  });
});

describe('src, tools and the OpenAPI document', () => {
  it('contain only patterns that take linear time', () => {
    const patterns = [...findPatterns(), ...findDocumentPatterns()];
    expect(patterns.length).toBeGreaterThan(100);
    const slow = patterns.flatMap(({ file, source, regExp }) => {
      const input = makeInputs(source).find((text) => measureGrowth(regExp, text) > MAX_GROWTH);
      return input === undefined ? [] : [{ file, source, ...input }];
    });
    expect(slow).toEqual([]);
  });
});
