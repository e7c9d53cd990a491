/** The first cache level: finished answers in this isolate's memory, bounded in bytes. */

import { LRUCache } from 'lru-cache';
import type { Answer } from './answer.ts';

/** What an entry takes besides its body and key, roughly: the objects that hold them. */
const ENTRY_OVERHEAD_BYTES = 512;

/** What `findAnswer` needs of the first level. Keys name canonical requests. */
export type AnswerMemory = {
  get(key: string): Answer | undefined;
  set(key: string, answer: Answer): void;
  delete(key: string): void;
};

/** Holds up to `maxBytes`, the least recently used answer out first; with 0 it holds nothing. */
export function createAnswerMemory(maxBytes: number): AnswerMemory {
  if (maxBytes === 0) return { get: () => undefined, set: () => {}, delete: () => {} };
  const answers = new LRUCache<string, Answer>({
    maxSize: maxBytes,
    sizeCalculation: (answer, key) => answer.body.size + 2 * key.length + ENTRY_OVERHEAD_BYTES,
  });
  return {
    get: (key) => answers.get(key),
    set: (key, answer) => {
      answers.set(key, answer);
    },
    delete: (key) => {
      answers.delete(key);
    },
  };
}
