/** From a feed request to its response: the cache levels set up, the answer found, 200, 304 or 404. */

import type { Context } from 'hono';
import { type Config, configOf } from '../config.ts';
import type { AppEnv } from '../http/app-env.ts';
import { resourceMissing } from '../http/errors.ts';
import { logFault } from '../http/log.ts';
import { requestIdOf } from '../http/request-id.ts';
import { answerOf, respondWith } from './answer.ts';
import { edgeAnswers } from './answer-edge.ts';
import { type AnswerMemory, createAnswerMemory } from './answer-memory.ts';
import { type Found, findAnswer, MAX_STALE_SECONDS } from './answers.ts';
import { renderingOf } from './render.ts';

/** Gives the JSON text of an answer from D1, or undefined when there is nothing. */
type Load = (publicSiteUrl: string) => Promise<string | undefined>;

/**
 * Makes `serve(c, key, load)`, where `key` names the canonical request. Throws 404
 * `resource_missing` when there is nothing to show.
 */
export function createFeed() {
  let memory: AnswerMemory | undefined;
  return async function serve(c: Context<AppEnv>, key: string, load: Load): Promise<Response> {
    const config = configOf(c.env);
    memory ??= createAnswerMemory(config.feedMemoryBytes);
    const found = await find(c, config, memory, key, () => load(config.publicSiteUrl));
    if (found.kind === 'missing') throw noSuchProperty();
    return respondWith(found.answer, c.req.header('If-None-Match'), found.staleSeconds);
  };
}

/** The same 404 for a listing that is hidden, unknown, or could have no such name. */
export function noSuchProperty() {
  return resourceMissing('There is no such property.');
}

async function find(
  c: Context<AppEnv>,
  { feedCacheSeconds, publicSiteUrl }: Config,
  memory: AnswerMemory,
  key: string,
  load: () => Promise<string | undefined>,
): Promise<Found> {
  if (feedCacheSeconds === 0) {
    const json = await load();
    return json === undefined
      ? { kind: 'missing' }
      : { kind: 'answer', answer: await answerOf(json, Date.now()) };
  }
  return findAnswer(
    `${renderingOf(publicSiteUrl)} ${key}`,
    {
      memory,
      edge: edgeAnswers(caches.default, () => originOf(c.req.url), MAX_STALE_SECONDS),
      freshSeconds: feedCacheSeconds,
      waitUntil: (work) => c.executionCtx.waitUntil(work),
      onFault: (what, error) => logFault(what, requestIdOf(c), error),
    },
    load,
  );
}

/** The service's own origin; a Host that makes no address gets one of nobody's. */
function originOf(url: string): string {
  return URL.parse(url)?.origin ?? 'https://unknown.invalid';
}
