/** How zod's problems are worded wherever this module is loaded: as ends of "<field> …". */

import * as z from 'zod';

z.config({ customError: wording });

/** zod's own wording speaks of TypeScript's types; `undefined` leaves it as it is. */
function wording(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      if (issue.input === undefined) return 'is required';
      if (Array.isArray(issue.input)) return `must be one ${issue.expected}, given once`;
      return `must be ${issue.expected === 'int' ? 'a whole number' : `of type ${issue.expected}`}`;
    case 'invalid_value':
      return `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return `must be ${measure(issue.origin, 'at least', issue.minimum)}`;
    case 'too_big':
      return `must be ${measure(issue.origin, 'at most', issue.maximum)}`;
    default:
      return undefined;
  }
}

function measure(origin: string, bound: string, size: number | bigint): string {
  if (origin === 'string') return `${bound} ${size} characters long`;
  if (origin === 'array') return `a list of ${bound} ${size} entries`;
  return `${bound} ${size}`;
}
