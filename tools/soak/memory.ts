/**
 * The memory of the runtime: live objects of the Worker's isolate, and resident memory of workerd,
 * which holds all isolates, those of the local stores too.
 *
 * Measured under the soak's traffic: by default resident memory rises by 20 KB per request and settles
 * beyond 900 MB, though nothing is kept, because V8 puts collecting off in each isolate. Under
 * `EAGER_COLLECTION` it settles at 200 MB after some three thousand requests. A counter that has opened
 * its storage takes about a megabyte until it is evicted: hence the fixed number of clients.
 */

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import * as z from 'zod';

/** Flags under which V8 collects garbage often, and all of it each time. */
export const EAGER_COLLECTION = '--gc-global --max-semi-space-size=1';

const BYTES_PER_MEGABYTE = 1_048_576;
const KILOBYTES_PER_MEGABYTE = 1_024;

/** In megabytes: `live` in the isolate, `resident` in workerd. */
export type Memory = { live: number; resident: number };

/** V8 holds more at some times than at others. The Worker's caches are bounded in bytes. */
const MAX_LIVE_GROWTH_MEGABYTES = 6;
/** Room for chance and for memory that has not settled yet, however few the requests. */
const MAX_RESIDENT_GROWTH_MEGABYTES = 16;
/** Room for what is stored and its index entries, with much to spare. */
const MAX_RESIDENT_GROWTH_KILOBYTES_PER_REQUEST = 8;

/** Returns what grew too much while that many requests were answered. Pure. */
export function findGrowth(before: Memory, after: Memory, requests: number): string[] {
  const live = after.live - before.live;
  const resident = after.resident - before.resident;
  const mayGrow =
    MAX_RESIDENT_GROWTH_MEGABYTES +
    (requests * MAX_RESIDENT_GROWTH_KILOBYTES_PER_REQUEST) / KILOBYTES_PER_MEGABYTE;
  return [
    ...(live > MAX_LIVE_GROWTH_MEGABYTES ? [`the isolate holds ${live.toFixed(1)} MB more`] : []),
    ...(resident > mayGrow ? [`workerd takes ${resident.toFixed(0)} MB more`] : []),
  ].map((growth) => `${growth} after ${requests} requests`);
}

/** Returns the resident memory of the workerd that this process runs, according to `ps`. */
export function residentMegabytes(): number {
  const processes = execFileSync('ps', ['-A', '-o', 'ppid=,rss=,comm='], { encoding: 'utf8' });
  const sizes = processes
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(?:.*\/)?workerd$/.exec(line.trimEnd()))
    .filter((match) => Number(match?.[1]) === process.pid)
    .map((match) => Number(match?.[2]) / KILOBYTES_PER_MEGABYTE);
  if (sizes.length === 0) throw new Error('ps shows no workerd that this process runs');
  return sizes.reduce((sum, size) => sum + size);
}

const reply = z.object({
  id: z.literal(2),
  result: z.object({
    usedSize: z.number(),
    embedderHeapUsedSize: z.number().default(0),
    backingStorageSize: z.number().default(0),
  }),
});

/** Finished requests let go of their memory only by and by: it is collected several times, with pauses. */
const COLLECTIONS = 5;
const PAUSE_MS = 100;
const REPLY_DEADLINE_MS = 10_000;

/**
 * Returns the megabytes of live objects and buffers.
 * `touch` sends the Worker a request: finished requests let go of their memory when the next one comes.
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

/** Rejects when the inspector has not replied within `REPLY_DEADLINE_MS`. */
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
      resolve((usedSize + embedderHeapUsedSize + backingStorageSize) / BYTES_PER_MEGABYTE);
    };
    socket.addEventListener('message', read);
    socket.send(JSON.stringify({ id: 1, method: 'HeapProfiler.collectGarbage' }));
    socket.send(JSON.stringify({ id: 2, method: 'Runtime.getHeapUsage' }));
  });
}
