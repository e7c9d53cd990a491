/**
 * Creates the key pair that replaces an identity provider during development. The Worker gets its
 * public half.
 */

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { PROJECT_DIRECTORY } from '../command-line/project.ts';
import { readTextFile } from '../command-line/text-file.ts';
import { UserError } from '../command-line/user-error.ts';
import { readDevVars, setKeySet } from '../configuration/dev-vars.ts';

const KEY_FILE = '.dev.key.json';
/** Id of the development key. A key set with any other id in `.dev.vars` is never replaced. */
const KEY_ID = 'development';

const publicHalf = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  x: z.string(),
  y: z.string(),
  kid: z.literal(KEY_ID),
  alg: z.literal('ES256'),
});
const keyPair = publicHalf.extend({ d: z.string() });

type SigningKey = z.infer<typeof keyPair>;

/**
 * Returns the private key, and creates the key pair if there is none. Adds the public half to
 * .dev.vars unless that file configures another key set.
 */
export async function ensureDevelopmentKeys(directory = PROJECT_DIRECTORY): Promise<SigningKey> {
  const key = await ensureKeyPair(join(directory, KEY_FILE));
  const vars = readDevVars(directory);
  const keySet = vars.get('JWT_JWKS');
  const isForeign =
    keySet === undefined ? vars.has('JWT_JWKS_URL') : !keySet.includes(`"kid":"${KEY_ID}"`);
  if (!isForeign) setKeySet(directory, { keys: [publicHalf.parse(key)] });
  return key;
}

async function ensureKeyPair(file: string): Promise<SigningKey> {
  if (!existsSync(file)) {
    const { exportJWK, generateKeyPair } = await import('jose');
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    const jwk = { ...(await exportJWK(privateKey)), kid: KEY_ID, alg: 'ES256' };
    writeFileSync(file, `${JSON.stringify(jwk)}\n`, { mode: 0o600, flag: 'wx' });
  }
  const text = readTextFile(file);
  try {
    return keyPair.parse(JSON.parse(text));
  } catch {
    throw new UserError(
      `${KEY_FILE} has no development key. Delete the file, and the next command creates a new key`,
    );
  }
}
