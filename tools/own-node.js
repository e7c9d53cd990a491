/**
 * Prepares Node for a command before its TypeScript is loaded. Stops if the installation is incomplete, and
 * makes imports fast.
 */

import { existsSync, lstatSync, mkdirSync, readFileSync } from 'node:fs';
// A default import, because an older Node does not have all names and would print a stack trace.
import module from 'node:module';
import { dirname, join } from 'node:path';

const PROJECT_DIRECTORY = join(import.meta.dirname ?? '.', '..');

const problem = findProblem();
if (problem !== undefined) {
  console.error(problem);
  process.exit(1);
}

/** Returns what is wrong with the installation and how to repair it; undefined if nothing is wrong. */
function findProblem() {
  const isInstalled = (name) => existsSync(join(PROJECT_DIRECTORY, 'node_modules', name));
  if (!isInstalled('hono')) return 'The packages of this project are not installed. Run: npm ci';
  if (!isInstalled('node')) {
    return 'The development packages of this project are missing, because npm left them out (NODE_ENV=production, or its setting omit=dev). Run: npm ci --include=dev';
  }
  const [major] = process.versions.node.split('.');
  if (Number(major) >= 24) return undefined;
  return `This is Node ${process.versions.node}. The Node of this project is missing, because install scripts were off. Run: npm rebuild node --ignore-scripts=false`;
}

/** Keeps compiled code for the next command. NODE_COMPILE_CACHE names another folder. */
const COMPILE_CACHE = join(PROJECT_DIRECTORY, '.wrangler', 'compile-cache');

if (!process.env.NODE_COMPILE_CACHE && isPrivate(COMPILE_CACHE)) {
  module.enableCompileCache(COMPILE_CACHE);
}

/**
 * Makes the folder if it is missing. Returns whether only its user can write to it, because others could
 * place code there that Node would run.
 */
function isPrivate(folder) {
  try {
    mkdirSync(dirname(folder), { recursive: true });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const { mode, uid } = lstatSync(folder);
    const isWritableByOthers = (mode & 0o022) !== 0;
    return !isWritableByOthers && uid === process.getuid?.();
  } catch {
    // e.g. in a working copy that belongs to another user. Without the cache, commands only start later.
    return false;
  }
}

/**
 * The package.json of drizzle-orm has 178 KB, and Node parses it for each of the package's files: a
 * second of processor per command. The files are ES modules that name each other by complete paths.
 */
const DRIZZLE = /\/node_modules\/drizzle-orm\/.*\.js$/;

module.registerHooks({
  resolve(specifier, context, resolveByNode) {
    const { parentURL = '' } = context;
    if (!specifier.startsWith('.') || !DRIZZLE.test(parentURL)) return resolveByNode(specifier);
    const { href } = new URL(specifier, parentURL);
    return { url: href, format: 'module', shortCircuit: true };
  },
  load(url, _context, loadByNode) {
    if (!DRIZZLE.test(url)) return loadByNode(url);
    return { source: readFileSync(new URL(url)), format: 'module', shortCircuit: true };
  },
});
