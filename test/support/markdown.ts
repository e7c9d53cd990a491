/** Reads the project's Markdown documents, both in Node and in workerd. */

const TEXTS = import.meta.glob<string>(
  ['../../README.md', '../../CONTRIBUTING.md', '../../docs/{,**/}*.md', '../conformance.md'],
  { query: '?raw', import: 'default', eager: true },
);

/** The paths of the documents that `npm run dev` shows. */
export const DOCUMENTS = Object.keys(TEXTS)
  .filter((path) => path.startsWith('../../'))
  .map((path) => path.replace('../../', ''));

/** The only document that `npm run dev` does not show. */
export const CONFORMANCE = 'test/conformance.md';

export function readDocument(path: string): string {
  const text = TEXTS[path === CONFORMANCE ? '../conformance.md' : `../../${path}`];
  if (text === undefined) throw new Error(`there is no document ${path}`);
  return text;
}

/** Returns the code of a document's fenced blocks in the given language. */
export function getCodeBlocks(path: string, language: string): string[] {
  const blocks = readDocument(path).matchAll(/^ *```(\w*)\n([\s\S]*?)^ *```$/gm);
  return [...blocks].flatMap(([, tag, code = '']) => (tag === language ? [code] : []));
}

/** Returns a document without its fenced code blocks. */
export function getProse(path: string): string {
  return readDocument(path).replaceAll(/^ *```\w*\n[\s\S]*?^ *```$/gm, '');
}

/** Returns the anchors that GitHub generates for a document's headings. */
export function getAnchors(path: string): string[] {
  const headings = getProse(path).matchAll(/^#{1,6} (.+)$/gm);
  return [...headings].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Returns a document's tables in order. The cells are trimmed. */
export function getTables(path: string): { heads: string[]; rows: string[][] }[] {
  const blocks = getProse(path).match(/(?:^ *\|.*\|$\n?)+/gm) ?? [];
  return blocks.map((block) => {
    const [heads = [], , ...rows] = block.trim().split('\n').map(splitCells);
    return { heads, rows };
  });
}

/**
 * Returns the table whose first column has the given header. Throws unless the document has exactly
 * one such table.
 */
export function getTable(path: string, firstHead: string) {
  const [table, ...others] = getTables(path).filter(({ heads }) => heads[0] === firstHead);
  if (table && others.length === 0) return table;
  throw new Error(`${path} has not one table headed "${firstHead}"`);
}

/** Returns the strings that are in backticks. */
export function getCodes(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

function splitCells(line: string): string[] {
  return line
    .trim()
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim());
}
