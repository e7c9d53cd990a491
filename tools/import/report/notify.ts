/** Notifies a site's build hook with a signed message (standardwebhooks.com). */

import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { describeCause } from '../../cloudflare/account.ts';
import { UserError } from '../../command-line/user-error.ts';
import type { AcceptedImport } from '../import.ts';
import type { ListingChange } from '../plan/changes.ts';
import { raisesVersion } from '../write/apply.ts';

const RETRY_PAUSES_MS = [1_000, 3_000];
const DEADLINE_MS = 10_000;

const MAX_SLUGS = 100;

export type Hook = {
  url: URL;
  signer: Webhook | undefined;
  retryPausesMs: readonly number[];
};

/** Parses the URL and secret of a hook. Throws a `UserError` if either is malformed. */
export function parseHook(address: string, secret: string | undefined): Hook {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol) || url.username || url.password) {
    throw new UserError('--notify must be an http(s) URL without credentials');
  }
  if (!secret) return { url, signer: undefined, retryPausesMs: RETRY_PAUSES_MS };
  // The package also accepts other strings, but derives a different key from them.
  if (!/^whsec_([A-Za-z0-9+/]{4})+([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(secret)) {
    throw new UserError(
      'PUBLISH_HOOK_SECRET must be whsec_ and base64, as Standard Webhooks writes a secret',
    );
  }
  return { url, signer: new Webhook(secret), retryPausesMs: RETRY_PAUSES_MS };
}

/**
 * Sends the message, with at most three attempts. Returns the last failure instead of throwing it;
 * undefined after success. `slugs` is null after an import that changes nothing, because the
 * message of an earlier import may have been lost.
 */
export async function notify({ url, signer, retryPausesMs }: Hook, outcome: AcceptedImport) {
  const { feedChanges, resumeCursor, effect } = outcome;
  const slugs = [...new Set(feedChanges.flatMap(listPublicSlugs))];
  const body = JSON.stringify({
    type: 'feed.changed',
    changes: feedChanges.length,
    slugs: slugs.length > MAX_SLUGS || !raisesVersion(effect) ? null : slugs,
    resume_cursor: resumeCursor,
  });
  // All attempts share an id, so that the receiver can ignore duplicates.
  const id = `msg_${randomUUID()}`;
  let failure = '';
  for (const pauseMs of [...retryPausesMs, 0]) {
    const now = new Date();
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'Content-Type': 'application/json',
          'webhook-id': id,
          'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
          ...(signer && { 'webhook-signature': signer.sign(id, now, body) }),
        },
        body,
        // A redirect must not pass the signed message on to another address.
        redirect: 'manual',
        signal: AbortSignal.timeout(DEADLINE_MS),
      });
      await response.body?.cancel();
      if (response.ok) return undefined;
      failure = `it responded with ${response.status}`;
    } catch (error) {
      const isLate = error instanceof Error && error.name === 'TimeoutError';
      failure = isLate ? 'no response' : `no connection (${describeCause(error)})`;
    }
    await pause(pauseMs);
  }
  return failure;
}

function listPublicSlugs({ listing, latest }: ListingChange): string[] {
  const last = listing.status === 'hidden' ? latest.removed_slug : listing.slug;
  return last === null ? latest.former_slugs : [last, ...latest.former_slugs];
}
