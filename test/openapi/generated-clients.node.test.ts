/**
 * Clients that five generators make of the document, each compiled and run against the service: a list
 * with two statuses, an item, an event and its retry, and the payload of a stored event by its kind.
 * The generators have a package of their own, test/openapi/clients, which only the long form installs.
 */

import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DevService, startDevService } from '../support/node/dev-service.ts';

const run = promisify(execFile);

/** Program in test/openapi/clients/programs → the command that makes its client. */
const GENERATORS = {
  'openapi-fetch': 'openapi-typescript openapi.json --output generated/openapi-typescript.ts',
  'hey-api':
    'openapi-ts --input openapi.json --output generated/hey-api --client @hey-api/client-fetch',
  orval: 'orval --config orval.config.mjs',
  'swagger-typescript-api':
    'swagger-typescript-api generate --path openapi.json --output generated --name swagger-typescript-api.ts',
  'openapi-zod-client': 'openapi-zod-client openapi.json --output generated/openapi-zod-client.ts',
};

const COMPILER_OPTIONS = [
  ...['--strict', '--noUncheckedIndexedAccess', '--skipLibCheck', '--types', 'node'],
  ...['--target', 'es2023', '--lib', 'es2023,dom,dom.iterable'],
  // The generated files import each other without extensions.
  ...['--module', 'commonjs', '--moduleResolution', 'bundler'],
  ...['--rootDir', '.', '--outDir', 'compiled'],
];

const isFull = process.env.FULL === '1';
if (!isFull) console.warn('The generated clients are tried with FULL=1 only: they are installed.');

describe.skipIf(!isFull)('a generated client', () => {
  const directory = mkdtempSync(join(tmpdir(), 'generated-clients-'));
  let service: DevService;

  /** Runs a program of the generators' package. Its output is part of the error when it fails. */
  const inDirectory = (program: string, args: readonly string[]) =>
    run(program, args, {
      cwd: directory,
      maxBuffer: 1e8,
      env: { ...process.env, API_URL: service.origin, API_KEY: service.apiKey },
    }).catch((error: { stdout?: string; stderr?: string }) => {
      throw new Error(`${program} failed: ${error.stdout}\n${error.stderr}`, { cause: error });
    });

  beforeAll(async () => {
    cpSync(join('test', 'openapi', 'clients'), directory, { recursive: true });
    const document = await run('npm', ['run', '-s', 'openapi'], { maxBuffer: 1e8 });
    writeFileSync(join(directory, 'openapi.json'), document.stdout);
    service = await startDevService();
    await inDirectory('npm', ['ci', '--ignore-scripts', '--prefer-offline']);
    mkdirSync(join(directory, 'compiled'));
    writeFileSync(join(directory, 'compiled', 'package.json'), '{ "type": "commonjs" }');
  }, 600_000);

  afterAll(async () => {
    await service?.stop();
    rmSync(directory, { recursive: true, force: true });
  });

  it.each(Object.entries(GENERATORS))(
    'of %s compiles, and lists, finds, sends, retries and reads back',
    async (name, command) => {
      const [generator = '', ...args] = command.split(' ');
      await inDirectory(join(directory, 'node_modules', '.bin', generator), args);
      const tsc = resolve('node_modules', '.bin', 'tsc');
      await inDirectory(tsc, [...COMPILER_OPTIONS, `programs/${name}.ts`]);
      const { stdout } = await inDirectory(process.execPath, [`compiled/programs/${name}.js`]);
      expect(JSON.parse(stdout)).toEqual({
        statuses: ['coming_soon', 'sold_out'],
        item: 'casa-ginebrera',
        sent: ['pending', 'idempotent'],
        isOneEvent: true,
        guests: 2,
      });
    },
  );
});
