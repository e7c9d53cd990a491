/** An identity provider for tests: its keys, and the tokens that it signs. */

import { exportJWK, generateKeyPair, SignJWT } from 'jose';

export const ISSUER = 'https://identity.example.com/';
export const AUDIENCE = 'events-and-property-feed';

type Claims = Record<string, unknown>;

/** Returns a provider with one signing key. */
export async function createProvider(kid = 'key-1', alg = 'ES256') {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid, alg };
  const jwks = JSON.stringify({ keys: [jwk] });
  return {
    jwk,
    jwks,
    /** The vars that make the service accept this provider's tokens. */
    vars: { JWT_ISSUER: ISSUER, JWT_AUDIENCE: AUDIENCE, JWT_JWKS: jwks },
    /** Signs a token that opens the feed for an hour. Claims that are undefined are left out. */
    sign(claims: Claims = {}, header: Claims = {}): Promise<string> {
      return new SignJWT({ ...usualClaims(), ...claims })
        .setProtectedHeader({ kid, ...header, alg })
        .sign(privateKey);
    },
  };
}

export function usualClaims(): Claims {
  const now = Math.floor(Date.now() / 1_000);
  return {
    iss: ISSUER,
    aud: AUDIENCE,
    sub: 'user-1',
    iat: now,
    exp: now + 3_600,
    permissions: ['tool-web:viewer'],
  };
}

/** Encodes a part of a token: base64url of JSON. */
export function encode(part: unknown): string {
  return btoa(JSON.stringify(part)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}
