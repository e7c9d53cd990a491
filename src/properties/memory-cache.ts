/** The first cache level: answers in this isolate's memory, bounded in bytes. */

import { LRUCache } from 'lru-cache';
import type { Answer } from './answer.ts';

/** The rough size of an entry besides its body and key: the objects that hold them. */
const ENTRY_OVERHEAD_BYTES = 512;

/** Answers by key. */
export type MemoryCache = {
  find(key: string): Answer | undefined;
  put(key: string, answer: Answer): void;
  forget(key: string): void;
  /** Returns how often an answer was forgotten. */
  timesForgotten(): number;
};

/** Makes a cache of up to `maxBytes` that drops the least recently used answers first; 0 caches nothing. */
export function createMemoryCache(maxBytes: number): MemoryCache {
  if (maxBytes === 0) {
    return { find: () => undefined, put: () => {}, forget: () => {}, timesForgotten: () => 0 };
  }
  let forgotten = 0;
  const answers = new LRUCache<string, Answer>({
    maxSize: maxBytes,
    sizeCalculation: (answer, key) => answer.body.size + 2 * key.length + ENTRY_OVERHEAD_BYTES,
  });
  return {
    find: (key) => answers.get(key),
    put: (key, answer) => void answers.set(key, answer),
    forget: (key) => {
      answers.delete(key);
      forgotten += 1;
    },
    timesForgotten: () => forgotten,
  };
}
