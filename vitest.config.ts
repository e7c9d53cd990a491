/** The settings are in a file of their own: only the project's Node can load what that imports. */

import './tools/own-node.js';

const { href } = new URL('./test/vitest/config.ts', import.meta.url);
export default (await import(href)).default;
