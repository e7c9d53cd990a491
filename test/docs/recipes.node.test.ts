/** The recipes of CONTRIBUTING.md: each place that one names is there, by its file and by the name in it. */

import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const text = readFileSync('CONTRIBUTING.md', 'utf8');
const [, chapter = ''] = /^## Recipes$(.*?)^## /ms.exec(text) ?? [];
const recipes = chapter
  .split(/^### /m)
  .slice(1)
  .map((recipe) => ({ title: recipe.split('\n')[0], recipe }));

/** A path in backticks, and on the same line of the list a name in capitals or camel case that stands there. */
const PATH = /`((?:src|test|tools|docs|migrations)\/[\w./-]+\.\w+|wrangler\.toml|package\.json)`/g;
const STEP = /^\d+\. `([\w./-]+\.ts)`: ([\s\S]*?)(?=\n\d+\. |\n\n|$)/gm;
const NAME = /`([A-Z][A-Z_]{3,}|[a-z]+[A-Z]\w+)`/g;

it('finds the recipes', () => {
  expect(recipes.length).toBeGreaterThan(7);
  expect(chapter.match(PATH)?.length).toBeGreaterThan(25);
});

describe.each(recipes)('the recipe $title', ({ recipe }) => {
  it('names files that exist', () => {
    const paths = [...recipe.matchAll(PATH)].map(([, path = '']) => path);
    expect(paths.filter((path) => !path.includes('NAME') && !existsSync(path))).toEqual([]);
  });

  it('names what stands in the file of its step', () => {
    const missing = [...recipe.matchAll(STEP)].flatMap(([, path = '', step = '']) => {
      if (path.includes('NAME')) return [];
      const source = readFileSync(path, 'utf8');
      const [first] = [...step.matchAll(NAME)].map(([, name = '']) => name);
      return first === undefined || source.includes(first) ? [] : [`${path}: ${first}`];
    });
    expect(missing).toEqual([]);
  });
});
