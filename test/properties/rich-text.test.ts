import { describe, expect, it } from 'vitest';
import { plainTextOf, type RichText } from '../../src/properties/rich-text.ts';
import { richText } from '../../tools/import/listing-schemas.ts';

const words = (text: string, marks?: object[]) => ({ type: 'text', text, ...(marks && { marks }) });
const paragraph = (...content: object[]) => ({ type: 'paragraph', content });
const hardBreak = { type: 'hardBreak' };
const doc = (...content: object[]) => ({ type: 'doc', content }) as RichText;

describe('plain text', () => {
  it.each<[string, RichText, string]>([
    ['a plain string as it is', ' As is.\n\n\n Twice ', ' As is.\n\n\n Twice '],
    ['the line ends of a plain string as newlines', 'a\r\nb\rc\n\r\nd', 'a\nb\nc\n\nd'],
    [
      'paragraphs separated by a blank line',
      doc(paragraph(words('A')), paragraph(words('B'))),
      'A\n\nB',
    ],
    [
      'a heading as a block',
      doc({ type: 'heading', attrs: { level: 2 }, content: [words('H')] }, paragraph(words('P'))),
      'H\n\nP',
    ],
    [
      'a hard break as a newline',
      doc(paragraph(words('a'), { type: 'hardBreak' }, words('b'))),
      'a\nb',
    ],
    [
      'one newline for several hard breaks, and none at the ends of a block',
      doc(
        paragraph(hardBreak, words('a'), hardBreak, hardBreak, words(' '), hardBreak, words('b')),
        paragraph(hardBreak),
        paragraph(words('c'), hardBreak, hardBreak),
      ),
      'a\nb\n\nc',
    ],
    [
      'line ends inside a text as hard breaks',
      doc(paragraph(words('\r\na\r\n\r\nb\rc'), hardBreak, words('\nd\n'))),
      'a\nb\nc\nd',
    ],
    [
      'text without its marks',
      doc(paragraph(words('bold', [{ type: 'bold' }]), words(' link', [{ type: 'link' }]))),
      'bold link',
    ],
    [
      'list items as blocks',
      doc({
        type: 'bulletList',
        content: [
          { type: 'listItem', content: [paragraph(words('1')), paragraph(words('1b'))] },
          {
            type: 'listItem',
            content: [
              paragraph(words('2')),
              {
                type: 'orderedList',
                content: [{ type: 'listItem', content: [paragraph(words('2.1'))] }],
              },
            ],
          },
        ],
      }),
      '1\n\n1b\n\n2\n\n2.1',
    ],
    ['quotations as blocks', doc({ type: 'blockquote', content: [paragraph(words('q'))] }), 'q'],
    [
      'no blank blocks',
      doc(paragraph(), paragraph(words(' ')), paragraph(words('x')), { type: 'paragraph' }),
      'x',
    ],
    ['nothing of an empty document', { type: 'doc' }, ''],
  ])('has %s', (_name, value, expected) => {
    expect(plainTextOf(value)).toBe(expected);
  });
});

describe('a rich text', () => {
  const nested = (depth: number): object =>
    depth === 0 ? paragraph(words('x')) : { type: 'blockquote', content: [nested(depth - 1)] };

  it.each<[string, unknown, (string | number)[]]>([
    ['of an unknown node type', doc({ type: 'image' }), ['content', 0, 'type']],
    ['that is a number', 7, []],
    ['that is null', null, []],
    ['that is a list', [], []],
    ['that is a paragraph', paragraph(words('x')), []],
    ['whose content is no list', { type: 'doc', content: {} }, ['content']],
    ['with a node that is a string', { type: 'doc', content: ['x'] }, ['content', 0]],
    [
      'with a text node without text',
      doc(paragraph({ type: 'text' })),
      ['content', 0, 'content', 0, 'text'],
    ],
    ['with NUL', doc(paragraph(words('a\0'))), ['content', 0, 'content', 0, 'text']],
    ['that is a text with NUL', 'a\0', []],
    ['with a document inside', doc({ type: 'doc' }), ['content', 0, 'type']],
    ['of over 1,000 nodes', doc(...Array.from({ length: 1_001 }, () => paragraph())), ['content']],
    [
      'of over 100,000 characters',
      doc(...Array.from({ length: 3 }, () => paragraph(words('x'.repeat(50_000))))),
      [],
    ],
  ])('%s is rejected by its path', (_name, value, path) => {
    expect(richText.safeParse(value).error?.issues.map((issue) => issue.path)).toEqual([path]);
  });

  it('nested too deep is rejected, without exhausting the stack', () => {
    const deep = JSON.parse(
      `${'{"type":"blockquote","content":['.repeat(50_000)}${']}'.repeat(50_000)}`,
    );
    expect(richText.safeParse({ type: 'doc', content: [deep] }).success).toBe(false);
    expect(richText.safeParse({ type: 'doc', content: [nested(20)] }).success).toBe(true);
  });
});
