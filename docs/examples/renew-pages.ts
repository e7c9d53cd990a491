/**
 * The feed for a site that renders a page at its first visit, until the build hook names the page's
 * listing.
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

/** A hook may be lost: a page is read again when it is older than this. */
const MAX_AGE_MS = 3_600_000;
/**
 * Bodies by path. The tag is the slug that a body shows, or `lists` for one that shows several
 * listings.
 */
const cached = new Map<string, Cached>();
let hooks = 0;

/** A response of the feed. A home that is hidden is null and no failure: its page has to go. */
async function request<Body>(path: string): Promise<Body | null> {
  const response = await call(`/api/v1/web/${path}`);
  if (response.status === 404) return null;
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Body;
}

/** The cached body, or a new one. An old body is shown once more, and read again beside it. */
async function read<Body>(path: string, tag: string): Promise<Body | null> {
  const found = cached.get(path);
  if (!found) return renew<Body>(path, tag);
  if (Date.now() - found.readAt > MAX_AGE_MS) {
    found.readAt = Date.now();
    renew(path, tag).catch(console.error);
  }
  return found.body as Body;
}

async function renew<Body>(path: string, tag: string): Promise<Body | null> {
  const before = hooks;
  const body = await request<Body>(path);
  if (body === null) cached.delete(path);
  // What was read before a hook may lack the change of which the hook tells.
  else if (hooks === before) cached.set(path, { tag, body, readAt: Date.now() });
  return body;
}

/** Every item of a list. `pager` is the parameter that takes its cursors. */
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

/** The slug to redirect to: that of the listing that was public under `former` before. */
export async function findRenamed(former: string): Promise<string | undefined> {
  const changes = await readAll<Change>('property-changes?limit=50', 'after');
  return changes.find(({ former_slugs }) => former_slugs.includes(former))?.slug;
}

/** Answers the build hook. The pages that show a change are rendered again at their next visit. */
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
