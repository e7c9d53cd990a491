/** The shape of the code: who may import whom. */

import { describe, expect, it } from 'vitest';

const sources = import.meta.glob<string>('../src/**/*.{ts,tsx}', {
  query: '?raw',
  import: 'default',
  eager: true,
});

const toolSources = import.meta.glob<string>('../tools/**/*.ts', {
  query: '?raw',
  import: 'default',
  eager: true,
});

/** The folders of `src` that every capability may import. */
const SHARED = ['auth', 'http', 'schema', 'storage'];
/** The writer of the OpenAPI document, and the development pages. */
const NOT_DEPLOYED = ['openapi', 'development'];
/** The resources and chapters of the OpenAPI document, and the development pages. */
const NEVER_DEPLOYED = /(^|\/)(openapi|development)\//;
/** The files with which a capability writes its chapter of the document. */
const CHAPTER_WRITERS = /^openapi\/(chapter|list-resource|headers|error-resource)\.ts$/;

const filesOf = (texts: Record<string, string>, root: string) =>
  Object.entries(texts).map(([path, text]) => ({
    path: path.replace(root, ''),
    imports: [
      ...text.matchAll(
        /^(?:import|export)[^'"]*?from '([^']+)'|^import '([^']+)'|import\('([^']+)'\)/gm,
      ),
    ].map((match) => match[1] ?? match[2] ?? match[3] ?? ''),
    lines: text.split('\n').length,
  }));

const files = filesOf(sources, '../src/');
const tools = filesOf(toolSources, '../tools/');

const folders = new Set(files.flatMap(({ path }) => path.split('/').slice(0, -1).slice(0, 1)));
/** Every other folder: each may be changed without reading the others. */
const capabilities = [...folders].filter(
  (name) => !SHARED.includes(name) && !NOT_DEPLOYED.includes(name),
);

function targetsOf(file: (typeof files)[number]): string[] {
  return file.imports
    .filter((target) => target.startsWith('.'))
    .map((target) => new URL(target, `file:///${file.path}`).pathname.slice(1));
}

/** Removes whatever leads to no circle, and returns the rest. */
function findCircles(edges: readonly { from: string; to: readonly string[] }[]): string[] {
  const remaining = new Map<string, string[]>();
  for (const { from, to } of edges) {
    const others = to.filter((target) => target !== from);
    remaining.set(from, [...(remaining.get(from) ?? []), ...others]);
  }
  for (let size = -1; size !== remaining.size; ) {
    size = remaining.size;
    for (const [from, to] of remaining) {
      if (!to.some((target) => remaining.has(target))) remaining.delete(from);
    }
  }
  return [...remaining.keys()];
}

describe('the source tree', () => {
  it('is found', () => {
    expect(files.length).toBeGreaterThan(25);
    expect(files.some((file) => file.imports.length > 3)).toBe(true);
    expect(capabilities).toEqual(
      expect.arrayContaining(['events', 'health', 'properties', 'rate-limit']),
    );
  });

  it('has no capability that imports another', () => {
    const crossings = files.flatMap((file) => {
      const own = file.path.split('/')[0] ?? '';
      if (!capabilities.includes(own)) return [];
      const others = [...capabilities, ...NOT_DEPLOYED].filter((name) => name !== own);
      return targetsOf(file)
        .filter((target) => others.includes(target.split('/')[0] ?? ''))
        .filter((target) => !CHAPTER_WRITERS.test(target))
        .map((target) => `${file.path} -> ${target}`);
    });
    expect(crossings).toEqual([]);
  });

  it('has no import cycle', () => {
    expect(findCircles(files.map((file) => ({ from: file.path, to: targetsOf(file) })))).toEqual(
      [],
    );
  });

  it('deploys no value of what describes the API: deployed code takes types alone', () => {
    const values = Object.entries(sources)
      .filter(([path]) => !NEVER_DEPLOYED.test(path.replace('../src/', '')))
      .flatMap(([path, text]) =>
        [...text.matchAll(/^import (?!type )[^;]*from '([^']*)';/gm)]
          .map(
            ([, target = '']) => new URL(target, `file:///${path.replace('../src/', '')}`).pathname,
          )
          .filter((target) => NEVER_DEPLOYED.test(target.slice(1)))
          .map((target) => `${path} -> ${target}`),
      );
    expect(values).toEqual([]);
  });

  it('has no file of more than 400 lines', () => {
    expect(files.filter((file) => file.lines > 400).map((file) => file.path)).toEqual([]);
  });
});

it('the tools have no circle of files or of folders, types included', () => {
  const edges = tools.map((file) => ({ from: file.path, to: targetsOf(file) }));
  expect(edges.length).toBeGreaterThan(50);
  expect(findCircles(edges)).toEqual([]);
  const folderOf = (path: string) => path.replace(/\/[^/]*$/, '');
  const folders = edges.map(({ from, to }) => ({ from: folderOf(from), to: to.map(folderOf) }));
  expect(findCircles(folders)).toEqual([]);
});
