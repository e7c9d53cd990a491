/** Makes the commands for first requests that the start page and `npm run dev` show. */

const EVENT = {
  event_type: 'booking.created',
  aggregate_id: 'booking-1',
  aggregate_type: 'booking',
  payload: { check_in: '2027-07-03', check_out: '2027-07-10', guests: 4 },
};

/** Returns two shell commands. The first reads the feed, and the second sends an event. */
export function firstRequests(origin: string, apiKey: string): string[] {
  const key = `-H ${quoted(`x-api-key: ${apiKey}`)}`;
  return [
    `curl -s ${key} ${quoted(`${origin}/api/v1/web/properties?limit=2`)}`,
    `curl -s ${key} -H 'Content-Type: application/json' -H 'Idempotency-Key: booking-1' -d ${quoted(JSON.stringify(EVENT))} ${origin}/api/public/events/ingest`,
  ];
}

/** Quotes a string for a POSIX shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
