import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { TEST_VARS } from './vars.ts';

type Claims = Record<string, unknown>;

/** Creates a fake identity provider with one signing key. */
export async function createProvider(kid = 'key-1', alg = 'ES256') {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid, alg };
  const jwks = JSON.stringify({ keys: [jwk] });
  return {
    jwk,
    jwks,
    /** Vars that make the service accept this provider's tokens. */
    vars: { JWT_JWKS: jwks },
    /**
     * Signs a token that permits reading the feed for an hour. Claims that are undefined are left
     * out.
     */
    sign(claims: Claims = {}, header: Claims = {}): Promise<string> {
      const now = Math.floor(Date.now() / 1_000);
      const usualClaims = {
        iss: TEST_VARS.JWT_ISSUER,
        aud: TEST_VARS.JWT_AUDIENCE,
        sub: 'user-1',
        iat: now,
        exp: now + 3_600,
        permissions: ['tool-web:viewer'],
      };
      return new SignJWT({ ...usualClaims, ...claims })
        .setProtectedHeader({ kid, ...header, alg })
        .sign(privateKey);
    },
  };
}
