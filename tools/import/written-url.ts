/**
 * A URL in a listings file. Sites write it into pages, so it has nothing that ends an attribute or a
 * tag there, and no credentials, which every visitor would see. It is stored in normal form.
 */

import * as z from 'zod';
import { httpUrl } from '../../src/properties/text.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: the URL parser drops some of them silently
const FORBIDDEN = /[\s\u0000-\u0020\u007f-\u009f"'<>]/;

const normalized = z.string().transform((value, context) => {
  const url = new URL(value);
  const problem = FORBIDDEN.test(value)
    ? 'must not contain white space, quotation marks or angle brackets: write them as %20, %22, %27, %3C, %3E'
    : url.username !== '' || url.password !== ''
      ? 'must not contain credentials'
      : undefined;
  if (problem === undefined) return url.href;
  context.addIssue({ code: 'custom', message: problem });
  return z.NEVER;
});

/** The normal form may be longer, and has the bounds of a stored URL too. */
export const writtenUrl = httpUrl.pipe(normalized).pipe(httpUrl);
