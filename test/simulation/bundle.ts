/**
 * Loads a separate copy of the service's modules for each simulated isolate. The copy uses the
 * isolate's own clock, timers and random numbers instead of Node's.
 *
 * A variant of the service is its source with one deliberate mistake.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { compileFunction } from 'node:vm';
import { context } from 'esbuild';

/** A deliberate mistake in one source file. The changed source can call `makeWrong`. */
export type Mistake = {
  file: string;
  change: (source: string) => string;
  makeWrong?: (real: never) => unknown;
};

type App = { fetch(request: Request, env: object, context: object): Promise<Response> };
export type Instance = Record<string, (...values: unknown[]) => unknown>;

export type Service = {
  createApp: () => App;
  RateCounter: new (ctx: object, env: object) => Instance;
};

/** Loads the service with the given global objects. */
export type Source = (globals: object) => Service;

const require = createRequire(import.meta.url);

const ENTRY = `
  export { createApp } from './src/app.ts';
  export { RateCounter } from './src/rate-limit/counter.ts';`;
/** A replacement for the platform's base class. */
const DURABLE_OBJECT = 'export class DurableObject { constructor(ctx) { this.ctx = ctx; } }';

/** The mistake in the bundle that is currently being built; undefined for the real service. */
let mistake: Mistake | undefined;
let bundling: ReturnType<typeof startBundling> | undefined;

/** Starts esbuild. It reads the packages once; later bundles read only the changed file. */
function startBundling() {
  return context({
    stdin: { contents: ENTRY, resolveDir: '.' },
    bundle: true,
    write: false,
    format: 'cjs',
    platform: 'node',
    plugins: [
      {
        name: 'simulated',
        setup({ onLoad, onResolve }) {
          onResolve({ filter: /^cloudflare:/ }, ({ path }) => ({ path, namespace: 'platform' }));
          onLoad({ filter: /^/, namespace: 'platform' }, () => ({ contents: DURABLE_OBJECT }));
          onLoad({ filter: /\.ts$/ }, ({ path }) => {
            if (mistake === undefined || path !== resolve(mistake.file)) return undefined;
            const contents = mistake.change(readFileSync(path, 'utf8'));
            return { contents, loader: 'ts' };
          });
        },
      },
    ],
  });
}

/** Bundles the service, optionally with a deliberate mistake. Do not call it concurrently. */
export async function bundleSource(variant?: Mistake): Promise<Source> {
  mistake = variant;
  bundling ??= startBundling();
  const { outputFiles } = await (await bundling).rebuild();
  const [bundle] = outputFiles;
  return (globals) => {
    const module = { exports: {} as Service };
    const scope = { require, module, makeWrong: variant?.makeWrong, ...globals };
    compileFunction(bundle?.text ?? '', Object.keys(scope))(...Object.values(scope));
    return module.exports;
  };
}

export async function endBundling(): Promise<void> {
  await (await bundling)?.dispose();
  bundling = undefined;
}

// workerd has these methods, but Node does not have them yet.
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
