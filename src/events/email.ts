/** Email addresses: a dot-atom at a domain name (RFC 5321 section 4.1.2), without its quoted and literal forms. */

import * as z from 'zod';

/**
 * Every character of an atom, and the ASCII form of any domain (RFC 5891), `xn--` at its end too:
 * zod's own pattern refuses both, and with them guests who have such an address.
 */
const FORM =
  /^[\w!#$%&'*+/=?^`{|}~-]+(\.[\w!#$%&'*+/=?^`{|}~-]+)*@([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z][A-Za-z0-9-]{0,61}[A-Za-z0-9]$/;

/** An address in ASCII. */
export const email = z.email({ pattern: FORM, error: 'must be an email address' });
