/** Rich text (a string or a ProseMirror document), and its plain text for the feed. */

const LINE_END = /\r\n?|\n/g;

/** A node. Its marks and attributes do not show in plain text. */
type RichTextNode = { type: string; text?: string; content?: RichTextNode[] };
export type RichText = string | RichTextNode;

/**
 * Returns the plain text. Each paragraph or heading is a block, and a blank line is between blocks.
 * Blank lines are dropped from a block, and blank blocks from the text. Lines end with `\n`.
 */
export function toPlainText(value: RichText): string {
  if (typeof value === 'string') return value.replace(LINE_END, '\n');
  const blocks: string[] = [];
  let block = '';
  const endBlock = () => {
    const lines = block.split(LINE_END).filter((line) => line.trim() !== '');
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
  visit(value);
  return blocks.join('\n\n');
}
