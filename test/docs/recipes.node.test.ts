/** The recipes of CONTRIBUTING.md: each place that a step names exists, file and name. */

import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const text = readFileSync('CONTRIBUTING.md', 'utf8');
const chapter = text.split(/^## /m).find((each) => each.startsWith('Recipes\n')) ?? '';
const recipes = chapter
  .split(/^### /m)
  .slice(1)
  .map((recipe) => ({ title: recipe.split('\n')[0], recipe }));

/** A file in backticks. `NAME` stands for a capability that is yet to be named. */
const PATH = /`((?:src|test|tools|docs|migrations)\/[\w./-]+\.\w+|wrangler\.toml|package\.json)`/g;
/** A step of a list, or a paragraph: the places that it names belong together. */
const STEP = /^\d+\. |^- |\n\n/m;
/** An identifier in backticks, in capitals or camel case, with or without its call. */
const NAME = /`([A-Z][A-Z_]{3,}|[a-z]+[A-Z]\w+)(?:\(\.\.\.\))?`/g;

const stepsOf = (recipe: string) =>
  recipe.split(STEP).map((step) => ({
    step,
    paths: [...step.matchAll(PATH)].map(([, path = '']) => path),
  }));

it('finds the recipes', () => {
  expect(recipes.length).toBeGreaterThan(7);
  expect(chapter.match(PATH)?.length).toBeGreaterThan(35);
});

describe.each(recipes)('the recipe $title', ({ recipe }) => {
  const steps = stepsOf(recipe).map(({ step, paths }) => ({
    step,
    paths: paths.filter((path) => !path.includes('NAME')),
  }));

  it('names files that exist', () => {
    expect(steps.flatMap(({ paths }) => paths).filter((path) => !existsSync(path))).toEqual([]);
  });

  it('uses names that stand in a file of the same step', () => {
    const missing = steps
      .filter(({ paths }) => paths.length > 0)
      .flatMap(({ step, paths }) => {
        const sources = paths.map((path) => readFileSync(path, 'utf8'));
        return [...step.matchAll(NAME)]
          .map(([, name = '']) => name)
          .filter((name) => name !== 'NAME')
          .filter((name) => !sources.some((source) => source.includes(name)))
          .map((name) => `${paths.join(', ')}: ${name}`);
      });
    expect(missing).toEqual([]);
  });
});
