/** The tables in the text of a document. Runs in Node and in workerd. */

const OPERATE = import.meta.glob<string>('../../docs/operate/*.md', {
  query: '?raw',
  import: 'default',
  eager: true,
});

/** Returns the text of a document of docs/operate, e.g. of `cost.md`. */
export function operateText(name: string): string {
  return OPERATE[`../../docs/operate/${name}`] ?? '';
}

/** Cells are trimmed. */
export type Table = { heads: string[]; rows: string[][] };

/** Returns the tables of a document, in order. */
export function tablesIn(text: string): Table[] {
  const blocks = text.match(/(?:^ *\|.*\|$\n?)+/gm) ?? [];
  return blocks.map((block) => {
    const [heads = [], , ...rows] = block.trim().split('\n').map(cellsOf);
    return { heads, rows };
  });
}

/** Returns the one table of the document whose first column has this head. */
export function tableIn(text: string, firstHead: string): Table {
  const [found, ...others] = tablesIn(text).filter(({ heads }) => heads[0] === firstHead);
  if (found && others.length === 0) return found;
  throw new Error(`the document has not one table headed "${firstHead}"`);
}

/** Returns the texts in backticks. */
export function codesIn(text: string): string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

function cellsOf(line: string): string[] {
  return line
    .trim()
    .slice(1, -1)
    .split('|')
    .map((cell) => cell.trim());
}
