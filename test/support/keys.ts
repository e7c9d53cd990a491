/** Named API keys in tests. */

/** Returns the SHA-256 of a text in lower-case hexadecimal. */
export async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Makes a key, and its entry in the var `API_KEYS`. */
export async function namedKey(name: string, scopes: string[], expires?: string) {
  const key = `epf_${name}_${crypto.randomUUID()}`;
  const entry = { name, scopes, sha256: await sha256(key), ...(expires && { expires }) };
  return { key, entry };
}
