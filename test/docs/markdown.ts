/** Reads the project's documents: their text, code blocks and headings. */

import { globSync, readFileSync } from 'node:fs';

/** The paths of all documents. */
export const DOCUMENTS: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  ...globSync('docs/**/*.md').sort(),
];

/** The whole text of a document. */
export function textOf(path: string): string {
  return readFileSync(path, 'utf8');
}

/** The contents of the document's fenced blocks of one language. */
export function codeBlocksOf(path: string, language: string): string[] {
  const blocks = textOf(path).matchAll(/^ *```(\w*)\n([\s\S]*?)^ *```$/gm);
  return [...blocks].flatMap(([, found, code = '']) => (found === language ? [code] : []));
}

/** The document without its fenced blocks. */
export function proseOf(path: string): string {
  return textOf(path).replaceAll(/^ *```\w*\n[\s\S]*?^ *```$/gm, '');
}

/** The anchors that a document's headings have on GitHub. */
export function anchorsOf(path: string): string[] {
  const headings = proseOf(path).matchAll(/^#{1,6} (.+)$/gm);
  return [...headings].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
