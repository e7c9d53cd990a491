/**
 * The source of the service, loaded once more for each simulated machine: with modules of its own, and
 * with the clock, the timers, the randomness and the cache of that machine in place of Node's.
 *
 * A variant is the source with some text replaced. It is loaded in the same way.
 */

import { createHash, webcrypto } from 'node:crypto';
import { posix } from 'node:path';
import { compileFunction } from 'node:vm';
import ts from 'typescript';

/** Path in `src` → text. */
const SOURCES = new Map(
  Object.entries(
    import.meta.glob<string>('../../src/**/*.ts', {
      query: '?raw',
      import: 'default',
      eager: true,
    }),
  ).map(([path, text]) => [pathFromSource(path), text]),
);

function pathFromSource(path: string): string {
  return path.replace(/^(\.\.\/)*(src\/)?/, '');
}

/** The globals of a machine's modules, in place of Node's. */
export type Globals = {
  Date: DateConstructor;
  Math: Math;
  setTimeout: (
    work: (...values: unknown[]) => void,
    delay?: number,
    ...values: unknown[]
  ) => number;
  clearTimeout: (timer: number | undefined) => void;
  crypto: object;
  caches: object;
  console: object;
  scheduler: { wait(delay: number): Promise<void> };
};

const NAMES = [
  'Date',
  'Math',
  'setTimeout',
  'clearTimeout',
  'crypto',
  'caches',
  'console',
  'scheduler',
] as const satisfies (keyof Globals)[];

/** Some text of a file of `src`, and its replacement. */
export type Replacement = { file: string; text: string; by: string };

type Exports = Record<string, unknown>;
type Module = (exports: Exports, require: (name: string) => unknown, ...globals: unknown[]) => void;

/** The packages that the service imports. All machines share them: they keep nothing between requests. */
const PACKAGES = new Map(
  await Promise.all(
    packageNames().map(async (name): Promise<[string, Exports]> => {
      // Compiled code asks for this mark before it takes a default export.
      return [name, { ...((await import(name)) as Exports), __esModule: true }];
    }),
  ),
);

const compiled = new Map<string, Module>();

/** The source with its replacements made. */
export class Source {
  readonly #texts: ReadonlyMap<string, string>;

  /** Fails when a text to be replaced is not in its file exactly once. */
  constructor(replacements: readonly Replacement[] = []) {
    const texts = new Map(SOURCES);
    for (const { file, text, by } of replacements) {
      const before = texts.get(file) ?? '';
      const places = before.split(text).length - 1;
      if (places !== 1) throw new Error(`${file} has ${places} places of this text:\n${text}`);
      texts.set(
        file,
        before.replace(text, () => by),
      );
    }
    this.#texts = texts;
  }

  /** Loads the modules for one machine. Returns a function that imports one of them by its path. */
  load(globals: Globals): (path: string) => Exports {
    const loaded = new Map<string, Exports>([['cloudflare:workers', { DurableObject }]]);
    const values = NAMES.map((name) => globals[name]);
    const importOf = (path: string): Exports => {
      const known = loaded.get(path);
      if (known !== undefined) return known;
      const text = this.#texts.get(path);
      if (text === undefined) throw new Error(`there is no ${path}`);
      const exports: Exports = {};
      loaded.set(path, exports);
      const require = (name: string) => {
        if (name.startsWith('.'))
          return importOf(pathFromSource(posix.join(posix.dirname(path), name)));
        return loaded.get(name) ?? PACKAGES.get(name);
      };
      compile(path, text)(exports, require, ...values);
      return exports;
    };
    return importOf;
  }
}

/** The development pages are no part of the deployed service. */
function packageNames(): string[] {
  const deployed = [...SOURCES].filter(([path]) => !path.startsWith('development/'));
  const texts = deployed.map(([, text]) => text);
  const names = texts.flatMap((text) =>
    [...text.matchAll(/^(?:import|export) (?!type )[^;]*?from '([^.][^']*)'/gm)].map(
      ([, name = '']) => name,
    ),
  );
  return [...new Set(names)].filter((name) => name !== 'cloudflare:workers');
}

function compile(path: string, text: string): Module {
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
  const module = compileFunction(outputText, ['exports', 'require', ...NAMES], {
    filename: `src/${path}`,
  }) as Module;
  compiled.set(key, module);
  return module;
}

/** Replaces the platform's class. */
class DurableObject {
  readonly ctx: unknown;
  readonly env: unknown;

  constructor(ctx: unknown, env: unknown) {
    this.ctx = ctx;
    this.env = env;
  }
}

/** Returns the platform's `crypto`. Its promises settle at once, where Node's wait for other threads. */
export function cryptoOf(random: () => number): object {
  const digest = async (_: string, bytes: Uint8Array) => {
    const { buffer, byteOffset, length } = createHash('sha256').update(bytes).digest();
    return buffer.slice(byteOffset, byteOffset + length);
  };
  const randomUUID = () => {
    const digits = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join(
      '',
    );
    return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-a${digits.slice(17, 20)}-${digits.slice(20)}`;
  };
  const subtle = {
    digest,
    timingSafeEqual: (a: Uint8Array, b: Uint8Array) => Buffer.from(a).equals(b),
  };
  return { subtle, randomUUID, getRandomValues: webcrypto.getRandomValues.bind(webcrypto) };
}

/** The methods of workerd's byte arrays that Node does not have yet. */
const BYTE_METHODS = {
  toHex(this: Uint8Array) {
    return Buffer.from(this).toString('hex');
  },
  toBase64(this: Uint8Array) {
    return Buffer.from(this).toString('base64url');
  },
};

/** Adds missing methods to Node's byte arrays. */
export function addByteMethods(): void {
  for (const [name, value] of Object.entries(BYTE_METHODS)) {
    if (!(name in Uint8Array.prototype)) {
      Object.defineProperty(Uint8Array.prototype, name, { value, configurable: true });
    }
  }
  if (!('fromBase64' in Uint8Array)) {
    const value = (text: string) => Uint8Array.from(Buffer.from(text, 'base64url'));
    Object.defineProperty(Uint8Array, 'fromBase64', { value, configurable: true });
  }
}
