/** Converts rich text, which is a string or a ProseMirror document, to the plain text of the feed. */

import { isBlank } from './locale-map.ts';

const LINE_END = /\r\n?|\n/g;

/**
 * A node of a ProseMirror document. The type has no marks or attributes, because plain text does not
 * show them.
 */
type RichTextNode = { type: string; text?: string; content?: RichTextNode[] };
export type RichText = string | RichTextNode;

/**
 * Converts rich text to plain text. Lines end with `\n`, and exactly one blank line separates
 * paragraphs, so that sites can split the text at `\n\n`.
 *
 *     'Sea view.\r\n \n\n\nTwo\nlines. '             → 'Sea view.\n\nTwo\nlines.'
 *     <h2>Sea</h2><p></p><ul><li>One</li></ul>       → 'Sea\n\nOne'
 *     <p>A<br><br>B</p>                              → 'A\nB'
 */
export function toPlainText(value: RichText): string {
  return typeof value === 'string' ? cleanString(value) : listBlocks(value).join('\n\n');
}

function cleanString(text: string): string {
  const lines = text.split(LINE_END).map((line) => (isBlank(line) ? '' : line));
  return lines
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim();
}

/** Lists the text of each paragraph and heading. Leaves out blank texts and blank lines. */
function listBlocks(document: RichTextNode): string[] {
  const blocks: string[] = [];
  let block = '';
  const endBlock = () => {
    const lines = block.split(LINE_END).filter((line) => !isBlank(line));
    if (lines.length > 0) blocks.push(lines.join('\n'));
    block = '';
  };
  const visit = (node: RichTextNode) => {
    if (node.type === 'text') block += node.text ?? '';
    else if (node.type === 'hardBreak') block += '\n';
    else {
      endBlock();
      node.content?.forEach(visit);
      endBlock();
    }
  };
  visit(document);
  return blocks;
}
