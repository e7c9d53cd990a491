/**
 * What the runtime takes: live objects of the Worker's isolate, and resident memory of workerd, in
 * which lie all isolates, the local stores' too, and whatever else it has allocated.
 *
 * Measured under the soak's traffic: with V8 left to itself, resident memory rises by 20 KB a request
 * and comes to rest beyond 900 MB, though nothing is kept: V8 puts collecting off in each isolate.
 * Under `EAGER_COLLECTION` it comes to rest at 200 MB after some three thousand requests. A counter
 * that has opened its storage takes about a megabyte until it is evicted, which is why the clients
 * are a fixed number.
 */

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import * as z from 'zod';

/** V8 collects whatever is garbage each time that it looks for any, and looks often. */
export const EAGER_COLLECTION = '--gc-global --max-semi-space-size=1';

const BYTES_A_MEGABYTE = 1_048_576;
const KILOBYTES_A_MEGABYTE = 1_024;

/** Megabytes: live in the isolate, resident in workerd. */
export type Memory = { live: number; resident: number };

/** What V8 may hold more at one time than at another: its caches are bounded in bytes. */
const MAX_LIVE_GROWTH_MEGABYTES = 6;
/** Chance, and what has not come to rest yet, however few the requests. */
const MAX_RESIDENT_GROWTH_MEGABYTES = 16;
/** For what is stored and its index entries, with much to spare. */
const MAX_RESIDENT_GROWTH_KILOBYTES_A_REQUEST = 8;

/** What grew by more than it may while `requests` were answered. Pure. */
export function findGrowth(before: Memory, after: Memory, requests: number): string[] {
  const live = after.live - before.live;
  const resident = after.resident - before.resident;
  const mayGrow =
    MAX_RESIDENT_GROWTH_MEGABYTES +
    (requests * MAX_RESIDENT_GROWTH_KILOBYTES_A_REQUEST) / KILOBYTES_A_MEGABYTE;
  return [
    ...(live > MAX_LIVE_GROWTH_MEGABYTES ? [`the isolate holds ${live.toFixed(1)} MB more`] : []),
    ...(resident > mayGrow ? [`workerd takes ${resident.toFixed(0)} MB more`] : []),
  ].map((growth) => `${growth} after ${requests} requests`);
}

/** The resident memory of the workerd that this process runs, as `ps` tells it. */
export function residentMegabytes(): number {
  const processes = execFileSync('ps', ['-A', '-o', 'ppid=,rss=,comm='], { encoding: 'utf8' });
  const sizes = processes
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(?:.*\/)?workerd$/.exec(line.trimEnd()))
    .filter((match) => Number(match?.[1]) === process.pid)
    .map((match) => Number(match?.[2]) / KILOBYTES_A_MEGABYTE);
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

/** Garbage is collected several times, with pauses: what finished requests held comes free only by and by. */
const COLLECTIONS = 5;
const PAUSE_MS = 100;
const REPLY_DEADLINE_MS = 10_000;

/**
 * Megabytes of live objects and buffers.
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
