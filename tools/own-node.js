/** Loaded before a command: an older Node, which reads no TypeScript, would end in a stack trace. */

import { readFileSync } from 'node:fs';
import module from 'node:module';

const [major] = process.versions.node.split('.');
if (Number(major) < 24) {
  console.error(
    `This is Node ${process.versions.node}. The Node of this project is missing, because install scripts were off: npm rebuild node --ignore-scripts=false`,
  );
  process.exit(1);
}

/**
 * The package.json of drizzle-orm has 178 KB, and Node parses it for each of the package's files: a
 * second of processor per command. The files are ES modules that name each other by whole paths.
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
