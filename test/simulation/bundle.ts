/**
 * The source of the service, loaded once more for each simulated machine: with its own modules, and
 * with the clock, the timers and the randomness of that machine in place of Node's.
 *
 * A variant is the source with one function or constant replaced. It is loaded in the same way.
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { compileFunction } from 'node:vm';
import { build } from 'esbuild';

/** `by` of a module makes the wrong function, or constant, of the real one: `name` of a file. */
export type Mistake = { file: string; name: string; module: string; by: string };

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

export async function bundleSource(mistake?: Mistake): Promise<Source> {
  const { outputFiles } = await build({
    stdin: { contents: ENTRY, resolveDir: '.' },
    bundle: true,
    write: false,
    format: 'cjs',
    platform: 'node',
    sourcemap: 'inline',
    plugins: [
      {
        name: 'simulated',
        setup({ onLoad, onResolve }) {
          onResolve({ filter: /^cloudflare:/ }, ({ path }) => ({ path, namespace: 'platform' }));
          onLoad({ filter: /^/, namespace: 'platform' }, () => ({ contents: DURABLE_OBJECT }));
          onLoad({ filter: /\.ts$/ }, ({ path }) => {
            if (mistake === undefined || path !== resolve(mistake.file)) return undefined;
            return { contents: withMistake(readFileSync(path, 'utf8'), mistake), loader: 'ts' };
          });
        },
      },
    ],
  });
  const [bundle] = outputFiles;
  return (globals) => {
    const module = { exports: {} as Service };
    const names = ['require', 'module', ...Object.keys(globals)];
    compileFunction(bundle?.text ?? '', names)(require, module, ...Object.values(globals));
    return module.exports;
  };
}

/** Renames the real one, and gives its name to the wrong one. */
function withMistake(source: string, { name, module, by }: Mistake): string {
  const declaration = new RegExp(`^(export )?((?:async )?function|const) ${name}\\b`, 'm');
  const [, exported = ''] = declaration.exec(source) ?? [];
  const renamed = source.replace(declaration, `$2 real_${name}`);
  if (renamed === source) throw new Error(`${name} is not declared`);
  return `import { ${by} } from ${JSON.stringify(resolve(module))};
${renamed}
${exported}const ${name} = ${by}(real_${name});`;
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
