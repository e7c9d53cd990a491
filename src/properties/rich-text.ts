/**
 * Rich text as editors save it, and the plain text that the feed serves for a description.
 *
 * A rich text is a plain string or a ProseMirror document. Its plain text is made of blocks, one for each paragraph or
 * heading wherever it stands, separated by a blank line.
 */

import * as z from 'zod';
import { MAX_LIST_ENTRIES, MAX_TEXT_CHARACTERS, text } from './text.ts';

const CONTAINERS = ['doc', 'bulletList', 'orderedList', 'listItem', 'blockquote'] as const;
const BLOCKS = ['paragraph', 'heading'] as const;
const NODE_TYPES = new Set<string>([...CONTAINERS, ...BLOCKS, 'hardBreak', 'text']);
/** Bounds the recursion. No text that people read is nested so deep. */
export const MAX_NESTING = 64;

const LINE_END = /\r\n?|\n/g;

/** A node. Its marks and attributes do not show in plain text. */
export type RichTextNode = { type: string; text?: string; content?: RichTextNode[] };
export type RichText = string | RichTextNode;

/** Checks a rich text. A problem has its path: `content.0.content.2.type`. */
export const richText: z.ZodType<RichText> = z.unknown().transform((value, context) => {
  const problems = typeof value === 'string' ? textProblems(value, []) : documentProblems(value);
  for (const { path, message } of problems) context.addIssue({ code: 'custom', path, message });
  if (problems.length > 0) return z.NEVER;
  // A text, or a document without problems.
  const checked = value as RichText;
  if ([...plainTextOf(checked)].length > MAX_TEXT_CHARACTERS) {
    context.addIssue({
      code: 'custom',
      message: `must have at most ${MAX_TEXT_CHARACTERS} characters`,
    });
  }
  return checked;
});

/**
 * Returns the plain text, in which every line ends with `\n`. A hard break ends a line. Blank lines are dropped from a
 * block, and blank blocks from the text, so a blank line is always between blocks.
 */
export function plainTextOf(value: RichText): string {
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

type NodeProblem = { path: (string | number)[]; message: string };

function documentProblems(value: unknown): NodeProblem[] {
  if (!isObject(value) || value.type !== 'doc') {
    return [{ path: [], message: 'must be a string or a ProseMirror document of type "doc"' }];
  }
  return nodeProblems(value, [], 1);
}

function nodeProblems(node: unknown, path: (string | number)[], depth: number): NodeProblem[] {
  if (!isObject(node)) return [{ path, message: 'must be a ProseMirror node' }];
  if (depth > MAX_NESTING)
    return [{ path, message: `must be nested at most ${MAX_NESTING} levels deep` }];
  if (typeof node.type !== 'string' || !NODE_TYPES.has(node.type)) {
    return [{ path: [...path, 'type'], message: `must be one of ${[...NODE_TYPES].join(', ')}` }];
  }
  if (node.type === 'doc' && depth > 1) {
    return [{ path: [...path, 'type'], message: 'must not be a document inside a document' }];
  }
  if (node.type === 'text') return textProblems(node.text, [...path, 'text']);
  if (node.content === undefined) return [];
  if (!Array.isArray(node.content) || node.content.length > MAX_LIST_ENTRIES) {
    const message = `must be a list of at most ${MAX_LIST_ENTRIES} nodes`;
    return [{ path: [...path, 'content'], message }];
  }
  return node.content.flatMap((child: unknown, index) =>
    nodeProblems(child, [...path, 'content', index], depth + 1),
  );
}

function textProblems(value: unknown, path: (string | number)[]): NodeProblem[] {
  const parsed = text.safeParse(value);
  return parsed.success ? [] : parsed.error.issues.map(({ message }) => ({ path, message }));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
