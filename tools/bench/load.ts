/** Puts load on a Worker by a thread of its own. Each of its connections always has a request under way. */

import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Measured, Order } from './load-thread.ts';

export type { Call } from './load-thread.ts';

export type Load = {
  /** Returns how many requests the Worker at `url` answers per second. Throws when one is not a success. */
  rateOf(url: URL, order: Omit<Order, 'host' | 'port'>): Promise<number>;
  stop(): Promise<unknown>;
};

/** Starts the thread; it measures one order at a time. */
export function startLoad(): Load {
  const thread = new Worker(join(import.meta.dirname, 'load-thread.ts'));
  return {
    async rateOf({ hostname: host, port }, order) {
      thread.postMessage({ ...order, host, port: Number(port) } satisfies Order);
      const [measured]: Measured[] = await once(thread, 'message');
      if (measured === undefined) throw new Error('the load thread said nothing');
      if (measured.failure !== undefined) throw new Error(measured.failure);
      return measured.answers / measured.seconds;
    },
    stop: () => thread.terminate(),
  };
}
