/**
 * The tests that `npm run watch` runs when a file is saved. Every test that speaks HTTP imports the
 * whole service, so all importers would be almost all tests: only the nearest ones run.
 */

import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** The path of a file of the code, from the root of the project. */
export const CODE = /(?:^|\/)((?:src|tools)\/.+\.(?:tsx?|js|css|html|sh|json))$/;

const IMPORT = /(?:from |import |import\()'(\.[^']+)'/g;
const CONTRACT = 'test/contract.test.ts';
/** They import everything. */
const WHOLES = ['src/app.ts', 'src/api-document.ts'];

/**
 * Returns test files, the first of them first: the test of the same name, else those of the same
 * folder; then the tests that import the file, or else its importers; for the Worker, `CONTRACT`.
 *
 * @example watchedTests('src/auth/bearer.ts') // ['test/auth/bearer.test.ts', …]
 */
export function watchedTests(saved: string): string[] {
  const mirrored = saved.startsWith('src/') ? saved.replace('src/', 'test/') : `test/${saved}`;
  const folder = dirname(mirrored);
  const [name = ''] = basename(saved).split('.');
  const named = globSync(`${folder}/${name}{,-*,.node}{,.node}.test.ts`);
  const beside =
    folder === 'test' || folder === 'test/tools' ? [] : globSync(`${folder}/*.test.ts`);
  const isOfWorker = saved.startsWith('src/') && !saved.startsWith('src/development/');
  return [
    ...new Set([
      ...(named.length > 0 ? named : beside),
      ...findNearestTests(saved),
      ...(isOfWorker ? [CONTRACT] : []),
    ]),
  ];
}

function findNearestTests(saved: string): string[] {
  const importers = readImporters();
  const seen = new Set([saved]);
  for (let level = [saved]; level.length > 0; ) {
    level = level.flatMap((file) => importers.get(file) ?? []).filter((file) => !seen.has(file));
    level = level.filter((file) => !WHOLES.includes(file));
    for (const file of level) seen.add(file);
    const tests = level.filter((file) => file.endsWith('.test.ts'));
    if (tests.length > 0) return tests;
  }
  return [];
}

/** File → the files that import it. */
function readImporters(): Map<string, string[]> {
  const importers = new Map<string, string[]>();
  for (const file of globSync(['src/**/*.{ts,tsx}', 'tools/**/*.ts', 'test/**/*.ts'])) {
    for (const [, target = ''] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
      const imported = join(dirname(file), target);
      importers.set(imported, [...(importers.get(imported) ?? []), file]);
    }
  }
  return importers;
}
