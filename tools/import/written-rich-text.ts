/**
 * Rich text in a listings file: as it is stored, with bounded attributes and marks. They show nowhere,
 * but JSON that is nested deeper cannot be read by SQLite.
 */

import * as z from 'zod';
import {
  MAX_NESTING,
  type RichText,
  type RichTextNode,
  richText,
} from '../../src/properties/rich-text.ts';

export const writtenRichText = richText.pipe(
  z.custom<RichText>().superRefine((value, context) => {
    if (typeof value === 'string') return;
    for (const path of pathsOfDeepFields(value, [])) {
      const message = `must be nested at most ${MAX_NESTING} levels deep`;
      context.addIssue({ code: 'custom', path, message });
    }
  }),
);

/** Returns the paths of the fields of nodes that are nested too deep, the nodes' own content apart. */
function pathsOfDeepFields(node: RichTextNode, path: PropertyKey[]): PropertyKey[][] {
  // The schema has looked at the content, except that of a text node, which must not have any.
  const hasContent = node.type !== 'text';
  const others = Object.entries(node).filter(([name]) => !(hasContent && name === 'content'));
  return [
    ...others
      .filter(([, value]) => isDeeperThan(MAX_NESTING, value))
      .map(([name]) => [...path, name]),
    ...((hasContent && node.content) || []).flatMap((child, index) =>
      pathsOfDeepFields(child, [...path, 'content', index]),
    ),
  ];
}

/** Reports whether a value has more levels of objects and lists, itself included. No recursion: it may be deep. */
function isDeeperThan(levels: number, value: unknown): boolean {
  let level = [value].filter(isContainer);
  for (let depth = 0; depth < levels && level.length > 0; depth += 1) {
    level = level.flatMap((container) => Object.values(container).filter(isContainer));
  }
  return level.length > 0;
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
