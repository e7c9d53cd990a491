/** The shape of the code: who may import whom. Of the tests: who may start a service. */

import { describe, expect, it } from 'vitest';

const sources = import.meta.glob<string>('../src/**/*.ts', {
  query: '?raw',
  import: 'default',
  eager: true,
});

/** Folders that stand beside each other: each may be changed without reading the others. */
const CAPABILITIES = ['docs', 'events', 'health', 'properties', 'rate-limit'];

const files = Object.entries(sources).map(([path, text]) => ({
  path: path.replace('../src/', ''),
  imports: [
    ...text.matchAll(
      /^(?:import|export)[^'"]*?from '([^']+)'|^import '([^']+)'|import\('([^']+)'\)/gm,
    ),
  ].map((match) => match[1] ?? match[2] ?? match[3] ?? ''),
  lines: text.split('\n').length,
}));

function targetsOf(file: (typeof files)[number]): string[] {
  return file.imports
    .filter((target) => target.startsWith('.'))
    .map((target) => new URL(target, `file:///${file.path}`).pathname.slice(1));
}

describe('the source tree', () => {
  it('is found', () => {
    expect(files.length).toBeGreaterThan(25);
    expect(files.some((file) => file.imports.length > 3)).toBe(true);
  });

  it('has no capability that imports another', () => {
    const crossings = files.flatMap((file) => {
      const own = file.path.split('/')[0] ?? '';
      if (!CAPABILITIES.includes(own) || own === 'docs') return [];
      return targetsOf(file)
        .filter((target) => {
          const other = target.split('/')[0] ?? '';
          return CAPABILITIES.includes(other) && other !== own;
        })
        .map((target) => `${file.path} -> ${target}`);
    });
    expect(crossings).toEqual([]);
  });

  it('has nothing but the composition above the capabilities', () => {
    const upward = files
      .filter((file) => /^(http|storage|config)/.test(file.path))
      .flatMap((file) => targetsOf(file).map((target) => `${file.path} -> ${target}`))
      .filter((line) => !/-> (http|storage)\/|-> config\.ts/.test(line));
    expect(upward).toEqual([]);
  });

  it('keeps command-line programs and the documentation page out of the Worker', () => {
    const reached = new Set<string>();
    const visit = (path: string) => {
      if (reached.has(path)) return;
      reached.add(path);
      const file = files.find((each) => each.path === path);
      if (file) targetsOf(file).forEach(visit);
    };
    visit('index.ts');
    expect(reached.size).toBeGreaterThan(20);
    expect([...reached].filter((path) => /^docs\//.test(path))).toEqual([]);
  });

  it('imports zod whole by its namespace: the other form doubles the bundle', () => {
    const texts = Object.entries(sources).filter(([, text]) =>
      /import \{[^}]*\bz\b[^}]*\} from 'zod'/.test(text),
    );
    expect(texts.map(([path]) => path)).toEqual([]);
  });

  it('has no file that mixes too much', () => {
    expect(files.filter((file) => file.lines > 250).map((file) => file.path)).toEqual([]);
  });
});

describe('the tests over real HTTP', () => {
  const tests = Object.entries(
    import.meta.glob<string>(['./over-http/**/*.test.ts', './tools/**/*.test.ts'], {
      query: '?raw',
      import: 'default',
      eager: true,
    }),
  );

  it('are found', () => {
    expect(tests.length).toBeGreaterThan(10);
  });

  it('start services by the support code only, which reads their log', () => {
    const starters = [
      /^import (?!type )[^;]*from '(wrangler|miniflare)'/m,
      /import\('(wrangler|miniflare)'\)/,
      /^import (?!type )[^;]*from '[^']*\/tools\/bench\/(production|runtime)\.ts'/m,
      // A program that goes on running; execFile and spawnSync wait for its end.
      /\b(spawn|fork|exec)\b[^'"\n]* from 'node:child_process'/,
    ];
    const own = tests.filter(([, text]) => starters.some((starter) => starter.test(text)));
    // Runs a program that holds a lock and serves nothing.
    expect(own.map(([path]) => path)).toEqual(['./tools/development/local-turn.test.ts']);
  });

  it('hand the soak a bundle whose log is read', () => {
    const calls = tests.flatMap(([, text]) => text.match(/\bsoak\([^)]*\)/g) ?? []);
    expect(calls).toEqual(['soak(SECONDS, startWatchedProduction)']);
  });
});
