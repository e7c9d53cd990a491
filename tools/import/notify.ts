/** Tells a site that the feed has changed: a signed request to its build hook (standardwebhooks.com). */

import { createHmac, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

/** Pauses after the first and the second attempt. */
const PAUSES_MS = [1_000, 3_000];
const DEADLINE_MS = 10_000;

/** The address, and the key of `PUBLISH_HOOK_SECRET` when there is one. */
export type Hook = { url: URL; key: Uint8Array | undefined };

/** A message names so many slugs at most. */
const MAX_SLUGS = 100;

/** The message to a hook. `slugs` are the slugs of the changed listings, former ones too. */
type FeedChanged = { changes: number; slugs: ReadonlySet<string>; resumeCursor: string };

/** Reads a hook's address and secret. Returns a text when one of them is malformed: the fault. */
export function parseHook(address: string, secret: string | undefined): Hook | string {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username || url.password) {
    return '--notify must be an http(s) URL without credentials.';
  }
  if (!secret) return { url, key: undefined };
  const [, text] = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret) ?? [];
  const key = Buffer.from(text ?? '', 'base64');
  if (key.length === 0) {
    return 'PUBLISH_HOOK_SECRET must be whsec_ and base64, as Standard Webhooks writes a secret.';
  }
  return { url, key };
}

/** Sends the message, three times at most. Returns the last failure; undefined once it is delivered. Never throws. */
export async function notify(
  { url, key }: Hook,
  { changes, slugs, resumeCursor }: FeedChanged,
): Promise<string | undefined> {
  const body = JSON.stringify({
    type: 'feed.changed',
    changes,
    slugs: slugs.size > MAX_SLUGS ? null : [...slugs],
    resume_cursor: resumeCursor,
  });
  const id = `msg_${randomUUID()}`;
  let failure = '';
  for (const pauseMs of [...PAUSES_MS, 0]) {
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: headersOf(id, body, key),
        body,
        redirect: 'manual',
        signal: AbortSignal.timeout(DEADLINE_MS),
      });
      await response.body?.cancel();
      if (response.ok) return undefined;
      failure = `it answered ${response.status}`;
    } catch (error) {
      failure =
        error instanceof Error && error.name === 'TimeoutError' ? 'no answer' : 'no connection';
    }
    await pause(pauseMs);
  }
  return failure;
}

/** All attempts have one id, so that a receiver recognizes a repeat. Each has its own time and signature. */
function headersOf(id: string, body: string, key: Uint8Array | undefined): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const signed =
    key && createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'Content-Type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    ...(signed && { 'webhook-signature': `v1,${signed}` }),
  };
}
