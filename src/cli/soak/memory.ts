/** What the Worker's isolate holds, as V8 tells it after it has collected its garbage. */

import { once } from 'node:events';
import * as z from 'zod';

const BYTES_A_MEGABYTE = 1_048_576;

const reply = z.object({
  id: z.literal(2),
  result: z.object({
    usedSize: z.number(),
    embedderHeapUsedSize: z.number().default(0),
    backingStorageSize: z.number().default(0),
  }),
});

/** So long, what is no longer needed may take to be free: finished requests are let go of by and by. */
const COLLECTIONS = 5;
const PAUSE_MS = 100;
const REPLY_DEADLINE_MS = 10_000;

/**
 * Megabytes of live objects and buffers. The resident memory of the process says less: V8 takes
 * some hundred megabytes before it begins to look for garbage, and the local stores lie in it too.
 * `touch` sends the Worker a request: what finished requests held is let go of when the next comes.
 */
export async function liveMegabytes(
  inspectorUrl: URL,
  touch: () => Promise<unknown>,
): Promise<number> {
  const socket = new WebSocket(String(inspectorUrl));
  try {
    await once(socket, 'open');
    const sizes: number[] = [];
    for (let collection = 0; collection < COLLECTIONS; collection += 1) {
      await touch();
      sizes.push(await sizeAfterCollection(socket));
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    return Math.min(...sizes);
  } finally {
    socket.close();
  }
}

/** Rejects when the inspector says nothing for `REPLY_DEADLINE_MS`. */
function sizeAfterCollection(socket: WebSocket): Promise<number> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error('the inspector did not reply'));
    }, REPLY_DEADLINE_MS);
    const read = ({ data }: MessageEvent) => {
      const parsed = reply.safeParse(JSON.parse(String(data)));
      if (!parsed.success) return;
      clearTimeout(timer);
      socket.removeEventListener('message', read);
      const { usedSize, embedderHeapUsedSize, backingStorageSize } = parsed.data.result;
      resolve((usedSize + embedderHeapUsedSize + backingStorageSize) / BYTES_A_MEGABYTE);
    };
    socket.addEventListener('message', read);
    socket.send(JSON.stringify({ id: 1, method: 'HeapProfiler.collectGarbage' }));
    socket.send(JSON.stringify({ id: 2, method: 'Runtime.getHeapUsage' }));
  });
}
