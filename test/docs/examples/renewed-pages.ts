/** Tests renew-pages.ts, which caches pages until the build hook names their listing. */

import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { beforeAll, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { API_KEY, useTestService } from '../../support/node/example-service.ts';
import { findOtherSlug, listListings, SLUG } from './built-site.ts';

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

const service = useTestService();

beforeAll(() => {
  vi.stubEnv('PUBLISH_HOOK_SECRET', SECRET);
  vi.stubEnv('API_URL', service().proxyOrigin);
  vi.stubEnv('API_KEY', API_KEY);
  vi.resetModules();
});

function serveHook(): void {
  service().serveSite(async (request, response) => {
    const { onFeedChanged } = await import('../../../docs/examples/renew-pages.ts');
    const headers = z.record(z.string(), z.string()).parse(request.headers);
    const init = { method: 'POST', headers, body: await text(request) };
    const reply = await onFeedChanged(new Request(`${service().siteOrigin}${request.url}`, init));
    response.writeHead(reply.status).end();
  });
}

async function sendHook(slugs: string[] | null): Promise<number> {
  const body = JSON.stringify({ slugs });
  const [id, at] = ['msg_1', new Date()];
  const signature = new Webhook(SECRET).sign(id, at, body);
  const timestamp = String(Math.floor(at.getTime() / 1_000));
  const signed = {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature,
  };
  const sent = await fetch(`${service().siteOrigin}/feed-changed`, {
    method: 'POST',
    headers: signed,
    body,
  });
  return sent.status;
}

it('renew-pages.ts renews every page after a hook without slugs and after an hour without a hook', async () => {
  serveHook();
  const { getListing } = await import('../../../docs/examples/renew-pages.ts');
  const slug = findOtherSlug() ?? '';
  expect(await getListing(slug)).toMatchObject({ slug });
  await service().change({ slug, status: 'hidden' });
  expect(await getListing(slug)).toMatchObject({ slug });
  expect(await sendHook(['casa-azul'])).toBe(204);
  expect(await getListing(slug)).toMatchObject({ slug });
  expect(await sendHook(null)).toBe(204);
  expect(await getListing(slug)).toBeNull();

  await service().change({ slug, status: 'listed' });
  expect(await getListing(slug)).toMatchObject({ slug });
  await service().change({ slug, status: 'hidden' });
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_001 });
  await getListing(slug);
  await expect.poll(() => getListing(slug)).toBeNull();
  vi.useRealTimers();
  await service().change({ slug, status: 'listed' });
});

it('renew-pages.ts shows an import once a signed hook has arrived', async () => {
  serveHook();
  const { findRenamed, getCards, getListing } = await import(
    '../../../docs/examples/renew-pages.ts'
  );
  const [id = ''] = listListings(`slug = '${SLUG}'`);
  await service().change({ id, title: { en: 'Before' } });
  expect((await getListing(SLUG))?.title.en).toBe('Before');
  expect((await getCards()).find(({ slug }) => slug === SLUG)?.title.en).toBe('Before');
  await service().change({ id, title: { en: 'After' } });
  const forged = await fetch(`${service().siteOrigin}/feed-changed`, {
    method: 'POST',
    body: '{"slugs":null}',
  });
  expect(forged.status).toBe(401);
  expect((await getListing(SLUG))?.title.en).toBe('Before');
  await service().change(
    { id, slug: 'casa-nueva' },
    '--notify',
    `${service().siteOrigin}/feed-changed`,
  );
  expect(await getListing(SLUG)).toBeNull();
  expect(await findRenamed(SLUG)).toBe('casa-nueva');
  const renamed = await getListing('casa-nueva');
  expect(renamed?.title.en).toBe('After');
  const cards = await getCards();
  expect(cards.find(({ slug }) => slug === 'casa-nueva')?.title.en).toBe('After');
  const sent = service().requests.length;
  expect([await getListing('casa-nueva'), await getCards()]).toEqual([renamed, cards]);
  expect(service().requests).toHaveLength(sent);
  await service().change({ id, slug: SLUG });
});
