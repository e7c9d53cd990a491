/** Words zod's problems as ends of a sentence that begins with the field, wherever this module is loaded. */

import * as z from 'zod';

z.config({ customError: wording });

/** Replaces wording that speaks of TypeScript's types; `undefined` leaves zod's own. */
function wording(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      return `must be ${issue.expected === 'int' ? 'a whole number' : `of type ${issue.expected}`}`;
    case 'invalid_value': {
      const values = issue.values.map(String).join(', ');
      return issue.input === undefined
        ? `is required: one of ${values}`
        : `must be one of ${values}`;
    }
    case 'too_small':
      return `must be ${measure(issue.origin, 'at least', issue.minimum)}`;
    case 'too_big':
      return `must be ${measure(issue.origin, 'at most', issue.maximum)}`;
    default:
      return undefined;
  }
}

function measure(origin: string, bound: string, size: number | bigint): string {
  if (origin === 'string') return `${bound} ${counted(size, 'character', 'characters')} long`;
  if (origin === 'array') return `a list of ${bound} ${counted(size, 'entry', 'entries')}`;
  return `${bound} ${size}`;
}

function counted(size: number | bigint, one: string, many: string): string {
  return `${size} ${size === 1 ? one : many}`;
}
