/**
 * Reads the project's documents: their text, code blocks, headings and tables. Runs in Node and in
 * workerd.
 */

const TEXTS = import.meta.glob<string>(
  ['../../README.md', '../../CONTRIBUTING.md', '../../docs/**/*.md', '../conformance.md'],
  { query: '?raw', import: 'default', eager: true },
);

/** The paths of the documents that `npm run dev` shows. */
export const DOCUMENTS = Object.keys(TEXTS)
  .filter((path) => path.startsWith('../../'))
  .map((path) => path.replace('../../', ''));

/** For a developer who changes the service. */
export const CONFORMANCE = 'test/conformance.md';

/** The whole text of a document. */
export function readDocument(path: string): string {
  const text = TEXTS[path === CONFORMANCE ? '../conformance.md' : `../../${path}`];
  if (text === undefined) throw new Error(`there is no document ${path}`);
  return text;
}

/** The contents of the document's fenced blocks of one language. */
export function getCodeBlocks(path: string, language: string): string[] {
  const blocks = readDocument(path).matchAll(/^ *```(\w*)\n([\s\S]*?)^ *```$/gm);
  return [...blocks].flatMap(([, found, code = '']) => (found === language ? [code] : []));
}

/** The document without its fenced blocks. */
export function getProse(path: string): string {
  return readDocument(path).replaceAll(/^ *```\w*\n[\s\S]*?^ *```$/gm, '');
}

/** The anchors that a document's headings have on GitHub. */
export function getAnchors(path: string): string[] {
  const headings = getProse(path).matchAll(/^#{1,6} (.+)$/gm);
  return [...headings].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** The document's tables in order. Cells are trimmed. */
export function getTables(path: string): { heads: string[]; rows: string[][] }[] {
  const blocks = getProse(path).match(/(?:^ *\|.*\|$\n?)+/gm) ?? [];
  return blocks.map((block) => {
    const [heads = [], , ...rows] = block.trim().split('\n').map(cellsOf);
    return { heads, rows };
  });
}

/** The one table of the document whose first column has this head. */
export function getTable(path: string, firstHead: string) {
  const [found, ...others] = getTables(path).filter(({ heads }) => heads[0] === firstHead);
  if (found && others.length === 0) return found;
  throw new Error(`${path} has not one table headed "${firstHead}"`);
}

/** The texts in backticks. */
export function getCodes(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

function cellsOf(line: string): string[] {
  return line
    .trim()
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim());
}
