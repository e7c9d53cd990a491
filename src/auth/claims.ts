/** The claims that a token must have before its signature is worth a look (RFC 7519 section 4.1). Pure. */

import type { JWTPayload } from 'jose';

/** The difference of clocks that is forgiven. */
export const CLOCK_TOLERANCE_SECONDS = 30;

/**
 * Returns the name of the first claim that rules the token out, or `undefined`. The values decide
 * nothing in the token's favour: jose checks them again once the signature is verified.
 */
export function findBadClaim(
  { iss, aud, exp, nbf }: JWTPayload,
  { issuer, audience }: { issuer: string; audience: string },
  nowMs: number,
): 'iss' | 'aud' | 'exp' | 'nbf' | undefined {
  const now = Math.floor(nowMs / 1_000);
  if (iss !== issuer) return 'iss';
  if (![aud].flat().includes(audience)) return 'aud';
  if (typeof exp !== 'number' || exp <= now - CLOCK_TOLERANCE_SECONDS) return 'exp';
  if (nbf !== undefined && !(nbf <= now + CLOCK_TOLERANCE_SECONDS)) return 'nbf';
  return undefined;
}
