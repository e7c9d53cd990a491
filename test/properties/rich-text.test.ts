/** Rich text, and its conversion to the plain text of the feed. */

import { describe, expect, it } from 'vitest';
import { type RichText, toPlainText } from '../../src/properties/rich-text.ts';
import { richText } from '../../tools/import/catalogue/listing-schemas.ts';

/** Returns a text node, or a hard break for `|`. */
const inline = (text: string) => (text === '|' ? { type: 'hardBreak' } : { type: 'text', text });
const node = (type: string, ...content: object[]) => ({ type, content });
const paragraph = (...texts: string[]) => node('paragraph', ...texts.map(inline));
const doc = (...content: object[]) => node('doc', ...content) as RichText;
const item = (...content: object[]) => node('listItem', ...content);
const bold = { ...inline('bold'), marks: [{ type: 'bold' }] };
const heading = { ...node('heading', inline('H')), attrs: { level: 2 } };
const sublist = node('orderedList', item(paragraph('2.1')));

describe('plain text', () => {
  it.each<[string, RichText, string]>([
    ['the lines of a string, with their indentation', 'a\n  b\n\n c', 'a\n  b\n\n c'],
    ['newlines for all line endings in a string', 'a\r\nb\rc\n\r\nd', 'a\nb\nc\n\nd'],
    ['one blank line for a run of empty lines in a string', 'a\n\n\nb\r\r\r\rc', 'a\n\nb\n\nc'],
    [
      'one blank line for a run of whitespace-only lines in a string',
      'a\n \t\nb\n\n\u00a0\n\u200b\nc',
      'a\n\nb\n\nc',
    ],
    ['no empty lines at either end of a string', '\r\n \n\ta\n\nb\n \n', 'a\n\nb'],
    ['no spaces at either end of a string', ' a  b\t', 'a  b'],
    ['nothing for a whitespace-only string', ' \r\n\u00a0\n\u200b', ''],
    ['paragraphs separated by a blank line', doc(paragraph('A'), paragraph('B')), 'A\n\nB'],
    ['a heading as a block', doc(heading, paragraph('P')), 'H\n\nP'],
    [
      'one newline for a run of hard breaks inside a block',
      doc(paragraph('|', 'a', '|', '|', ' ', '|', 'b'), paragraph('|'), paragraph('c', '|', '|')),
      'a\nb\n\nc',
    ],
    [
      'newlines for all line endings in a text node',
      doc(paragraph('\r\na\r\n\r\nb\rc', '|', '\nd\n')),
      'a\nb\nc\nd',
    ],
    ['text without its marks', doc(node('paragraph', bold, inline(' text'))), 'bold text'],
    [
      'list items as blocks',
      doc(node('bulletList', item(paragraph('1'), paragraph('1b')), item(paragraph('2'), sublist))),
      '1\n\n1b\n\n2\n\n2.1',
    ],
    ['quotations as blocks', doc(node('blockquote', paragraph('q'))), 'q'],
    [
      'no blank blocks',
      doc(paragraph(), paragraph(' '), paragraph('x'), paragraph('\u200b'), paragraph('y')),
      'x\n\ny',
    ],
    ['nothing for an empty document', { type: 'doc' }, ''],
  ])('has %s', (_name, value, expected) => {
    expect(toPlainText(value)).toBe(expected);
    expect(toPlainText(expected), 'is the same when it is imported as a string').toBe(expected);
  });
});

describe('a rich text', () => {
  const TEXT = ['content', 0, 'content', 0, 'text'];
  const nested = (depth: number): object =>
    depth === 0 ? paragraph('x') : node('blockquote', nested(depth - 1));

  it.each<[string, unknown, (string | number)[]]>([
    ['with an unknown node type', doc({ type: 'image' }), ['content', 0, 'type']],
    ['whose type is paragraph', paragraph('x'), []],
    ['whose content is not a list', { type: 'doc', content: {} }, ['content']],
    ['with a text node without text', doc(node('paragraph', { type: 'text' })), TEXT],
    ['with NUL', doc(paragraph('a\0')), TEXT],
    ['with over 1,000 nodes', doc(...Array(1_001).fill(paragraph())), ['content']],
    ['with over 100,000 characters', doc(...Array(3).fill(paragraph('x'.repeat(50_000)))), []],
  ])('is rejected with the path of the problem if it is a document %s', (_name, value, path) => {
    expect(richText.safeParse(value).error?.issues.map((issue) => issue.path)).toEqual([path]);
  });

  it('is rejected without exhausting the stack if it is nested too deeply', () => {
    const deep = JSON.parse(
      `${'{"type":"blockquote","content":['.repeat(50_000)}${']}'.repeat(50_000)}`,
    );
    expect(richText.safeParse({ type: 'doc', content: [deep] }).success).toBe(false);
    expect(richText.safeParse({ type: 'doc', content: [nested(20)] }).success).toBe(true);
  });
});
