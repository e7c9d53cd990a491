/** Email addresses: a dot-atom at a domain name (RFC 5321 section 4.1.2), without the quoted and literal forms. */

import * as z from 'zod';

/**
 * Allows every character of an atom, and the ASCII form of any domain (RFC 5891), also with `xn--` in
 * its last label. zod's own pattern refuses guests who have such an address.
 */
const ADDRESS =
  /^[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z0-9]$/;

/** An address in ASCII. */
export const email = z
  .email({ pattern: ADDRESS, error: 'must be an email address' })
  .meta({ examples: ['guest@example.com'] });
