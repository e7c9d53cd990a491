/** Reads the project's documents: their text, code blocks, tables and headings. */

import { globSync, readFileSync } from 'node:fs';

/** The paths of all documents. */
export const DOCUMENTS: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  ...globSync('docs/**/*.md').sort(),
];

/** A table; cells are trimmed. */
export type Table = { heads: string[]; rows: string[][] };

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

/** The tables of a document, in order. */
export function tablesOf(path: string): Table[] {
  const blocks = proseOf(path).match(/(?:^ *\|.*\|$\n?)+/gm) ?? [];
  return blocks.map((block) => {
    const [heads = [], , ...rows] = block.trim().split('\n').map(cellsOf);
    return { heads, rows };
  });
}

/** The one table of the document whose first column has this head. */
export function tableOf(path: string, firstHead: string): Table {
  const [found, ...others] = tablesOf(path).filter(({ heads }) => heads[0] === firstHead);
  if (found === undefined || others.length > 0) {
    throw new Error(`${path} has ${found ? 'several tables' : 'no table'} headed "${firstHead}"`);
  }
  return found;
}

/** Returns the texts in backticks. */
export function codesIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
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

function cellsOf(line: string): string[] {
  return line
    .trim()
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim());
}
