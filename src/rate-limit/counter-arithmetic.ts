/**
 * The arithmetic of the rate limit: a sliding window of twelve buckets of five seconds. Buckets are
 * numbered since the epoch, so isolates and counters agree on them without coordinating:
 *
 *     bucket      … 360000  360001  360002 …
 *     requests           3      40       2
 *
 * Counts only grow, and a counter keeps the largest count of each reporter. Reports can therefore
 * be repeated, late or lost:
 *
 *     report for bucket 360001     counter keeps          total
 *     7c1d…: 8                     7c1d…: 8               8
 *     7c1d…: 24                    7c1d…: 24              24
 *     7c1d…: 16  (late)            7c1d…: 24              24
 *     e02b…: 16                    7c1d…: 24, e02b…: 16   40
 */

export const WINDOW_SECONDS = 60;
export const WINDOW_MS = WINDOW_SECONDS * 1_000;
export const BUCKET_MS = 5_000;
/** Number of buckets in a window, including the current bucket. */
export const BUCKETS_PER_WINDOW = WINDOW_MS / BUCKET_MS;
/**
 * Maximum difference, in buckets, between the clocks of two machines. Counts in more distant buckets
 * come from a clock that was wrong and has since been corrected.
 */
export const MAX_BUCKETS_APART = 2;
/** Maximum wait of a request for its counter. The next bucket can begin during the wait. */
export const MAX_WAIT_MS = 300;

/** The policies of the rate limit. A key with its own limit uses `default` on all routes. */
export type PolicyName = 'default' | 'ingest';

/** Number of requests, by bucket. */
export type Counts = ReadonlyMap<number, number>;

// Isolates and counters of two releases exchange and store the next four types, so their field names
// are fixed: docs/explain/formats.md. A `span` is a bucket, and a `record` is a reporter.

/** Requests of a client that an isolate has admitted. */
export type Report = {
  /** Random reporter id. A restarted isolate gets a new id, so its earlier counts still apply. */
  record: string;
  /**
   * Number of requests, by bucket. For a permit request, its bucket also counts the requests that wait
   * for permits.
   */
  counts: Counts;
};

/** A request for permission to admit one more request in a bucket. */
export type PermitRequest = { span: number; limit: number };

export type Reply = {
  /** Whether the counter has stored the counts. For a permit request, whether the permit was granted. */
  isCounted: boolean;
  /** Requests in the window that all other reporters have admitted. */
  others: Counts;
};

export type CounterState = {
  /** Number of requests, by bucket and reporter. */
  spans: ReadonlyMap<number, ReadonlyMap<string, number>>;
  /** Time of the last change. Every release stores it, because the alarm of any release reads it. */
  changedAt: number;
};

/** Returns the bucket of a time in milliseconds. */
export const bucketAt = (time: number) => Math.floor(time / BUCKET_MS);

/** Whether a bucket is in the window that ends with the bucket `end`. */
export function isInWindow(bucket: number, end: number): boolean {
  return bucket > end - BUCKETS_PER_WINDOW && bucket <= end;
}

/**
 * Returns the buckets of every window in which a permit may be requested. The request may have waited,
 * and the clock of its isolate may be slow or fast.
 */
function selectBuckets<T>(buckets: Iterable<[number, T]>, now: number): Map<number, T> {
  const earliest = bucketAt(now - MAX_WAIT_MS) - MAX_BUCKETS_APART - BUCKETS_PER_WINDOW + 1;
  const latest = bucketAt(now) + MAX_BUCKETS_APART;
  return new Map([...buckets].filter(([bucket]) => bucket >= earliest && bucket <= latest));
}

function sumCounts(counts: ReadonlyMap<unknown, number>): number {
  let total = 0;
  for (const count of counts.values()) total += count;
  return total;
}

/** Adds a report. The first report is not stored, because most clients never cause a second report. */
export function addReport(
  state: CounterState | undefined,
  { record: reporter, counts }: Report,
  now: number,
) {
  const buckets = selectBuckets(state?.spans ?? [], now);
  const reportedIn = (bucket: number) => buckets.get(bucket)?.get(reporter) ?? 0;
  const others = new Map(
    buckets
      .entries()
      .map(([bucket, reporters]) => [bucket, sumCounts(reporters) - reportedIn(bucket)]),
  );
  for (const [bucket, count] of selectBuckets(counts, now)) {
    if (count > reportedIn(bucket)) {
      buckets.set(bucket, new Map(buckets.get(bucket)).set(reporter, count));
    }
  }
  const nextState: CounterState = { spans: buckets, changedAt: now };
  return { isCounted: state !== undefined, others, nextState };
}

/**
 * Grants a permit if no window that includes its bucket exceeds the limit, and stores its counts. A
 * denied permit changes nothing.
 *
 * A permit's count includes the earlier requests of its isolate that still wait for permits. With a
 * limit of 10, and 6 requests at other isolates:
 *
 *     request   count   total   permit
 *     first     4       10      granted
 *     second    5       11      denied
 *     third     6       12      denied, in whatever order the messages arrive
 *
 * Once a count is denied, every larger count is denied too, because the windows depend only on the
 * permit's bucket, and their totals only grow. So a stored count never includes a rejected request.
 */
export function acquirePermit(
  state: CounterState | undefined,
  report: Report,
  { span: bucket, limit }: PermitRequest,
  now: number,
) {
  const { others, nextState } = addReport(state, report, now);
  const buckets = nextState.spans;
  // A later message that overtook this one has already counted this request.
  const isAlreadyCounted = buckets.get(bucket) === state?.spans.get(bucket);
  // A bucket that is too old or too new is dropped, so its permit is denied.
  const isCounted =
    buckets.has(bucket) && (isAlreadyCounted || largestTotal(buckets, bucket) <= limit);
  return { isCounted, others, nextState: isCounted ? nextState : undefined };
}

/** Returns the largest total of any window that includes a bucket. */
function largestTotal(buckets: CounterState['spans'], bucket: number): number {
  let largest = 0;
  for (const end of buckets.keys()) {
    if (!isInWindow(bucket, end)) continue;
    let total = 0;
    for (const [counted, reporters] of buckets) {
      if (isInWindow(counted, end)) total += sumCounts(reporters);
    }
    largest = Math.max(largest, total);
  }
  return largest;
}
