/**
 * The patterns that ECMAScript with its `u` flag, RE2, Java and Python read alike. Strict: a construct
 * that is not named here is refused, although some of the rest would be portable too.
 *
 * `$` is among them, because there is no other portable way to say where a text ends: JSON Schema itself
 * recommends it. Python's `re` alone lets a line break follow.
 */

/** Characters that need an escape outside a class, and may have one there. */
const SYNTAX = '.^$*+?()[]{}|\\';
/** Escapes that all four read alike inside a class. */
const SYNTAX_IN_CLASS = '\\]^-[';

/** Returns why a pattern is not portable; undefined when it is. */
export function whyNotPortable(pattern: string): string | undefined {
  let rest = pattern;
  let before = '';
  let depth = 0;
  while (rest !== '') {
    const found = tokenOf(rest);
    if (found === undefined) return `${JSON.stringify(rest.slice(0, 8))} is read in several ways`;
    const { kind, length } = found;
    if (kind === 'class') {
      const why = whyClassNotPortable(rest.slice(0, length));
      if (why !== undefined) return why;
    }
    if (kind === 'open') depth += 1;
    if (kind === 'close') depth -= 1;
    if (depth < 0) return 'a group is closed that was not opened';
    if (kind === 'quantifier' && !['atom', 'class', 'close'].includes(before)) {
      return 'a quantifier follows nothing that can be repeated, or makes another lazy or possessive';
    }
    before = kind;
    rest = rest.slice(length);
  }
  return depth === 0 ? undefined : 'a group is not closed';
}

const TOKENS: readonly (readonly [kind: string, form: RegExp])[] = [
  ['atom', /^\\x[0-9a-f]{2}/],
  ['atom', new RegExp(`^\\\\[${escaped(SYNTAX)}]`)],
  ['class', /^\[\^?(?:\\.|[^\]\\])+\]/],
  ['open', /^\((?:\?:)?(?!\?)/],
  ['close', /^\)/],
  ['quantifier', /^(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\})/],
  ['anchor', /^[\^$]/],
  ['or', /^\|/],
  // Printable ASCII that is no syntax. Other characters depend on how a dialect counts.
  ['atom', new RegExp(`^(?![${escaped(SYNTAX)}])[ -~]`)],
];

function tokenOf(rest: string) {
  for (const [kind, form] of TOKENS) {
    const length = form.exec(rest)?.[0].length;
    if (length !== undefined) return { kind, length };
  }
  return undefined;
}

function whyClassNotPortable(text: string): string | undefined {
  const inside = text.slice(1, -1).replace(/^\^/, '');
  const plain = inside.replace(/\\x[0-9a-f]{2}/g, 'a');
  const escapes = plain.match(/\\./g) ?? [];
  const odd = escapes.find((each) => !SYNTAX_IN_CLASS.includes(each.charAt(1)));
  if (odd !== undefined) return `${odd} is read in several ways inside a class`;
  const bare = plain.replace(/\\./g, 'a');
  if (/[^ -~]/.test(bare)) return 'a class holds a character that is not printable ASCII';
  // Java nests and intersects classes; Python means to.
  const operator = /\[|&&|\|\||~~|--/.exec(bare)?.[0];
  return operator === undefined ? undefined : `${operator} is an operator inside a class elsewhere`;
}

function escaped(characters: string): string {
  return characters.replace(/[\\\]^-]/g, '\\$&');
}
