/**
 * Reads the feed for a site that caches each page after its first visit. A build hook names the
 * listings whose pages must be rendered again.
 */

import { Webhook } from 'standardwebhooks';
import { call } from './call.ts';

export type Listing = {
  slug: string;
  name: string;
  title: { en?: string; es?: string; fr?: string };
};
type Change = { slug: string; former_slugs: string[]; change: string };

type Cached = { tag: string; body: unknown; readAt: number };

/**
 * Maximum age of a cached response. Older responses are read again, because a hook can get lost.
 */
const MAX_AGE_MS = 3_600_000;
/**
 * Cached response bodies by path. The tag of a body is the slug of its listing, or `lists` for the
 * page of a list.
 */
const cached = new Map<string, Cached>();
let hooks = 0;

/** Reads the feed. Returns null if the listing is hidden, so that the site removes its page. */
async function request<Body>(path: string): Promise<Body | null> {
  const response = await call(`/api/v1/web/${path}`);
  if (response.status === 404) return null;
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Body;
}

/**
 * Returns the cached body, or reads it if it is not cached. An old body is returned once more while
 * a new one is read in the background.
 */
async function read<Body>(path: string, tag: string): Promise<Body | null> {
  const entry = cached.get(path);
  if (!entry) return renew<Body>(path, tag);
  if (Date.now() - entry.readAt > MAX_AGE_MS) {
    entry.readAt = Date.now();
    renew(path, tag).catch(console.error);
  }
  return entry.body as Body;
}

async function renew<Body>(path: string, tag: string): Promise<Body | null> {
  const before = hooks;
  const body = await request<Body>(path);
  if (body === null) cached.delete(path);
  // A body that was requested before the hook arrived may not contain the announced change.
  else if (hooks === before) cached.set(path, { tag, body, readAt: Date.now() });
  return body;
}

/** Returns all items of a list. `pager` is the name of the cursor's query parameter. */
async function readAll<Item>(path: string, pager: 'cursor' | 'after'): Promise<Item[]> {
  const items: Item[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const next: string = cursor && `&${pager}=${cursor}`;
    const page = await read<{ data: Item[]; next_cursor: string | null }>(path + next, 'lists');
    items.push(...(page?.data ?? []));
    cursor = page?.next_cursor ?? null;
  }
  return items;
}

export const getListing = (slug: string) =>
  read<Listing>(`properties/${encodeURIComponent(slug)}?fresh=true`, slug);
export const getCards = () =>
  readAll<Listing>('property-cards?status=listed,coming_soon&limit=100&fresh=true', 'cursor');

/** Returns the current slug of the listing that used to have the given slug. */
export async function findRenamed(previousSlug: string): Promise<string | undefined> {
  const changes = await readAll<Change>('property-changes?limit=50', 'after');
  return changes.find(({ former_slugs }) => former_slugs.includes(previousSlug))?.slug;
}

/** Handles the build hook. Each affected page is rendered again on its next visit. */
export async function onFeedChanged(request: Request): Promise<Response> {
  const hook = new Webhook(process.env.PUBLISH_HOOK_SECRET ?? '');
  const body = await request.text();
  let slugs: string[] | null;
  try {
    ({ slugs } = hook.verify(body, Object.fromEntries(request.headers)) as { slugs: typeof slugs });
  } catch {
    return new Response('The signature is not valid.', { status: 401 });
  }
  hooks += 1;
  for (const [path, { tag }] of cached) {
    if (slugs === null || tag === 'lists' || slugs.includes(tag)) cached.delete(path);
  }
  return new Response(null, { status: 204 });
}
