/** Checks which files may import which other files, and how long a file may be. */

import { describe, expect, it } from 'vitest';

/** Folders of `src` that every capability may import. */
const SHARED = ['auth', 'http', 'schema', 'storage'];
/** Folders that are never deployed, at any depth. They build the OpenAPI document and the development pages. */
const NEVER_DEPLOYED = ['openapi', 'development'];

type SourceFile = {
  path: string;
  imports: { target: string; isTypeOnly: boolean }[];
  lines: number;
};

/** Matches `import … from 'x'`, `export … from 'x'`, `import 'x'` and `import('x')`. */
const IMPORT =
  /^(?:import|export)(?<type> type)?[^'"]*?from '(?<from>[^']+)'|^import '(?<bare>[^']+)'|import\('(?<dynamic>[^']+)'\)/gm;

function parseFiles(texts: Record<string, string>, root: string): SourceFile[] {
  return Object.entries(texts).map(([name, text]) => {
    const path = name.replace(root, '');
    const imports = [...text.matchAll(IMPORT)].flatMap(({ groups = {} }) => {
      const target = groups.from ?? groups.bare ?? groups.dynamic ?? '';
      if (!target.startsWith('.')) return [];
      const resolved = new URL(target, `file:///${path}`).pathname.slice(1);
      return { target: resolved, isTypeOnly: groups.type !== undefined };
    });
    return { path, imports, lines: text.split('\n').length };
  });
}

/** Returns the top-level folder of a file in `src`; undefined if the file is in no folder. */
function findTopFolder(path: string): string | undefined {
  const [folder, ...rest] = path.split('/');
  return rest.length > 0 ? folder : undefined;
}

function isNeverDeployed(path: string): boolean {
  return path.split('/').some((folder) => NEVER_DEPLOYED.includes(folder));
}

type Edge = { from: string; to: readonly string[] };

const toEdge = ({ path, imports }: SourceFile): Edge => ({
  from: path,
  to: imports.map(({ target }) => target),
});

/** Returns the files of all import cycles, and the files that import one of them. */
function findCycles(edges: readonly Edge[]): string[] {
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

const files = parseFiles(sources, '../src/');
const toolFiles = parseFiles(toolSources, '../tools/');

// Each of the other folders of `src` is a capability, which you can change without reading the others.
const capabilities = [...new Set(files.flatMap(({ path }) => findTopFolder(path) ?? []))].filter(
  (name) => !SHARED.includes(name) && !NEVER_DEPLOYED.includes(name),
);

describe('src', () => {
  it('has the files, imports and capabilities that the tests below need', () => {
    expect(files.length).toBeGreaterThan(25);
    expect(files.some(({ imports }) => imports.length > 3)).toBe(true);
    expect(files.some(({ imports }) => imports.some(({ isTypeOnly }) => isTypeOnly))).toBe(true);
    expect(capabilities).toEqual(
      expect.arrayContaining(['events', 'health', 'properties', 'rate-limit']),
    );
  });

  it('has no capability that imports another capability', () => {
    const crossings = files.flatMap(({ path, imports }) => {
      const capability = findTopFolder(path) ?? '';
      if (!capabilities.includes(capability)) return [];
      const others = capabilities.filter((name) => name !== capability);
      return imports
        .filter(({ target }) => others.includes(findTopFolder(target) ?? ''))
        .map(({ target }) => `${path} -> ${target}`);
    });
    expect(crossings).toEqual([]);
  });

  it('has no deployed file that imports a value from a folder that is never deployed', () => {
    const crossings = files
      .filter(({ path }) => !isNeverDeployed(path))
      .flatMap(({ path, imports }) =>
        imports
          .filter(({ target, isTypeOnly }) => !isTypeOnly && isNeverDeployed(target))
          .map(({ target }) => `${path} -> ${target}`),
      );
    expect(crossings).toEqual([]);
  });

  it('has no import of a capability in openapi files other than api-document.ts', () => {
    const crossings = files
      .filter(({ path }) => path.startsWith('openapi/') && path !== 'openapi/api-document.ts')
      .flatMap(({ path, imports }) =>
        imports
          .filter(({ target }) => capabilities.includes(findTopFolder(target) ?? ''))
          .map(({ target }) => `${path} -> ${target}`),
      );
    expect(crossings).toEqual([]);
  });

  it('has no import cycle', () => {
    expect(findCycles(files.map(toEdge))).toEqual([]);
  });

  it('has no file with more than 400 lines', () => {
    expect(files.filter(({ lines }) => lines > 400).map(({ path }) => path)).toEqual([]);
  });
});

describe('tools', () => {
  const edges = toolFiles.map(toEdge);
  const getFolder = (path: string) => path.replace(/\/[^/]*$/, '');

  it('has no import cycle, even through types', () => {
    expect(edges.length).toBeGreaterThan(50);
    expect(findCycles(edges)).toEqual([]);
  });

  it('has no import cycle between folders', () => {
    const folders = edges.map(({ from, to }) => ({ from: getFolder(from), to: to.map(getFolder) }));
    expect(findCycles(folders)).toEqual([]);
  });
});
