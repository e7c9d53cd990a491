/**
 * Answers of the feed through two cache levels: this isolate's memory, then the data centre's edge
 * cache, then D1. An answer is fresh for `freshSeconds` from its D1 read, whichever level gives it.
 * When D1 fails, one up to an hour old is better than none.
 */

import { type Answer, answerOf } from './answer.ts';
import type { AnswerEdge } from './answer-edge.ts';
import type { AnswerMemory } from './answer-memory.ts';

/** How old an answer may be when D1 cannot give a newer one. */
export const MAX_STALE_SECONDS = 3_600;

/** The two levels, and how to use them. */
export type AnswerLevels = {
  memory: AnswerMemory;
  edge: AnswerEdge;
  freshSeconds: number;
  /** Keeps work going after the response. */
  waitUntil(work: Promise<unknown>): void;
  /** Told of a level that failed; the answer is given without it. */
  onFault(what: string, error: unknown): void;
};

/** An answer, or the knowledge that there is none to give. */
export type Found =
  /** `staleSeconds`: how old the answer is; set when D1 failed. */
  { kind: 'answer'; answer: Answer; staleSeconds?: number } | { kind: 'missing' };

/**
 * The answer of `key`. `load` gives its JSON text from D1, or undefined when there is nothing: that
 * is not kept. Rejects as `load` does when no answer is young enough to stand in.
 */
export async function findAnswer(
  key: string,
  levels: AnswerLevels,
  load: () => Promise<string | undefined>,
): Promise<Found> {
  const askedAt = Date.now();
  const isFresh = (answer: Answer) => askedAt - answer.readAt < levels.freshSeconds * 1_000;

  const remembered = levels.memory.get(key);
  if (remembered && isFresh(remembered)) return { kind: 'answer', answer: remembered };

  const kept = await levels.edge.find(key).catch((error: unknown) => {
    levels.onFault('the edge cache could not be read', error);
    return undefined;
  });
  if (kept && isFresh(kept)) {
    levels.memory.set(key, kept);
    return { kind: 'answer', answer: kept };
  }

  try {
    const json = await load();
    if (json === undefined) {
      if (remembered || kept) forget(key, levels);
      return { kind: 'missing' };
    }
    const answer = await answerOf(json, askedAt);
    keep(key, answer, levels);
    return { kind: 'answer', answer };
  } catch (error) {
    const stale = newestOf(remembered, kept);
    // As old as it is when it is given: D1 may have taken its five seconds to fail.
    const age = stale && Date.now() - stale.readAt;
    if (stale === undefined || age === undefined || age > MAX_STALE_SECONDS * 1_000) throw error;
    levels.onFault('D1 failed: an older answer was given', error);
    return { kind: 'answer', answer: stale, staleSeconds: Math.floor(age / 1_000) };
  }
}

function keep(key: string, answer: Answer, { memory, edge, waitUntil, onFault }: AnswerLevels) {
  memory.set(key, answer);
  waitUntil(
    edge.put(key, answer).catch((error: unknown) => {
      onFault('the edge cache could not be written', error);
    }),
  );
}

/** What D1 no longer has is not to come back when D1 fails. */
function forget(key: string, { memory, edge, waitUntil, onFault }: AnswerLevels) {
  memory.delete(key);
  waitUntil(
    edge.delete(key).catch((error: unknown) => {
      onFault('the edge cache could not be written', error);
    }),
  );
}

function newestOf(a: Answer | undefined, b: Answer | undefined): Answer | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return a.readAt > b.readAt ? a : b;
}
