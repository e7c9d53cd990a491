/**
 * The source of the service, loaded once more for each simulated machine: with its own modules, and
 * with the clock, the timers and the randomness of that machine in place of Node's.
 *
 * A variant is the source with one mistake. It is loaded in the same way.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { compileFunction } from 'node:vm';
import { context } from 'esbuild';

/** A file of the service with a plausible mistake. Its changed source may call `makeWrong`. */
export type Mistake = {
  file: string;
  change: (source: string) => string;
  makeWrong?: (real: never) => unknown;
};

type App = { fetch(request: Request, env: object, context: object): Promise<Response> };
/** The methods of a Durable Object. */
export type Instance = Record<string, (...values: unknown[]) => unknown>;

export type Service = {
  createApp: () => App;
  RateCounter: new (ctx: object, env: object) => Instance;
};

/** Loads the service for one machine. */
export type Source = (globals: object) => Service;

const require = createRequire(import.meta.url);

const ENTRY = `
  export { createApp } from './src/app.ts';
  export { RateCounter } from './src/rate-limit/counter.ts';`;
/** Replaces the platform's class. */
const DURABLE_OBJECT = 'export class DurableObject { constructor(ctx) { this.ctx = ctx; } }';

/** The mistake of the bundle that is being made. */
let mistake: Mistake | undefined;
let bundling: ReturnType<typeof startBundling> | undefined;

/** esbuild reads the packages once: a further bundle takes the time of the changed file. */
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

/** Bundles are made one after the other. */
export async function bundleSource(made?: Mistake): Promise<Source> {
  mistake = made;
  bundling ??= startBundling();
  const { outputFiles } = await (await bundling).rebuild();
  const [bundle] = outputFiles;
  return (globals) => {
    const module = { exports: {} as Service };
    const scope = { require, module, makeWrong: made?.makeWrong, ...globals };
    compileFunction(bundle?.text ?? '', Object.keys(scope))(...Object.values(scope));
    return module.exports;
  };
}

export async function endBundling(): Promise<void> {
  await (await bundling)?.dispose();
  bundling = undefined;
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
