/**
 * The source of the service, loaded once more for each simulated machine: with its own modules, and
 * with the clock, the timers and the randomness of that machine in place of Node's.
 *
 * A variant is the source with some text replaced. It is loaded in the same way.
 */

import { posix } from 'node:path';
import { compileFunction } from 'node:vm';
import ts from 'typescript';

/** Path in the project → text. */
const SOURCES = new Map(
  Object.entries(
    import.meta.glob<string>('../../src/**/*.ts', {
      query: '?raw',
      import: 'default',
      eager: true,
    }),
  ).map(([path, text]) => [path.replace('../../', ''), text]),
);

/** Some text of a file, and its replacement. */
export type Replacement = readonly [file: string, text: string, by: string];

export type Exports = Record<string, unknown>;
type Module = (exports: Exports, require: (name: string) => unknown, ...globals: unknown[]) => void;

const packageNames = [...SOURCES.values()].flatMap((text) =>
  [...text.matchAll(/ from '((?!cloudflare:)[^.'][^']*)'/g)].map(([, name = '']) => name),
);
/**
 * The packages that the service imports. All machines share them: they keep nothing between
 * requests.
 */
const PACKAGES = new Map(
  await Promise.all(
    // Compiled code looks for the mark before it takes a default export.
    packageNames.map(
      async (name) => [name, { ...(await import(name)), __esModule: true }] as const,
    ),
  ),
);

const compiled = new Map<string, Module>();

/** The source with its replacements made. */
export class Source {
  readonly #texts = new Map(SOURCES);

  /** Fails if a text to be replaced is not in its file exactly once. */
  constructor(replacements: readonly Replacement[] = []) {
    for (const [file, text, by] of replacements) {
      const parts = this.#texts.get(file)?.split(text) ?? [];
      if (parts.length !== 2) throw new Error(`${file} has not one place of this text:\n${text}`);
      this.#texts.set(file, parts.join(by));
    }
  }

  /** Loads the modules for one machine. Returns a function that imports one of them by its path. */
  load(globals: object): (path: string) => Exports {
    const loaded = new Map<string, Exports>([['cloudflare:workers', { DurableObject }]]);
    const importOf = (path: string): Exports => {
      const known = loaded.get(path);
      if (known !== undefined) return known;
      const text = this.#texts.get(path);
      if (text === undefined) throw new Error(`there is no ${path}`);
      const exports: Exports = {};
      loaded.set(path, exports);
      const require = (name: string) =>
        name.startsWith('.')
          ? importOf(posix.join(posix.dirname(path), name))
          : (loaded.get(name) ?? PACKAGES.get(name));
      compile(path, text, Object.keys(globals))(exports, require, ...Object.values(globals));
      return exports;
    };
    return importOf;
  }
}

function compile(path: string, text: string, globals: string[]): Module {
  const key = `${path}\n${text}`;
  const known = compiled.get(key);
  if (known !== undefined) return known;
  const { outputText } = ts.transpileModule(text, {
    fileName: path,
    compilerOptions: {
      module: ts.ModuleKind.CommonJS,
      target: ts.ScriptTarget.ES2024,
      esModuleInterop: true,
      inlineSourceMap: true,
    },
  });
  const module = compileFunction(outputText, ['exports', 'require', ...globals], {
    filename: `src/${path}`,
  }) as Module;
  compiled.set(key, module);
  return module;
}

/** Replaces the platform's class. */
class DurableObject {
  readonly ctx: unknown;

  constructor(ctx: unknown) {
    this.ctx = ctx;
  }
}

/** Methods of workerd's byte arrays that Node does not have yet. */
Object.defineProperty(Uint8Array.prototype, 'toHex', {
  configurable: true,
  value(this: Uint8Array) {
    return Buffer.from(this).toString('hex');
  },
});
Object.defineProperty(Uint8Array, 'fromHex', {
  configurable: true,
  value: (text: string) => Uint8Array.from(Buffer.from(text, 'hex')),
});
