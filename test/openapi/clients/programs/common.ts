/** The requests of every program, and the line that it prints. */

export const ORIGIN = process.env.API_URL ?? 'http://localhost:3001';
export const KEY = process.env.API_KEY ?? '';

export const BOOKING = {
  event_type: 'booking.created' as const,
  aggregate_id: 'bk_clients',
  aggregate_type: 'booking',
  payload: { check_in: '2027-06-01', check_out: '2027-06-08', guests: 2, note: 'kept as sent' },
};

/** Prints the answers as one line of JSON. The types are those that a client has to know. */
export function report(
  list: readonly { slug: string; status: string }[] | undefined,
  item: { slug: string } | undefined,
  sent: readonly ({ id: string; status: string } | undefined)[],
  guests: number | undefined,
) {
  const statuses = [...new Set(list?.map(({ status }) => status))].sort();
  console.log(
    JSON.stringify({
      statuses,
      item: item?.slug,
      sent: sent.map((event) => event?.status),
      isOneEvent: sent[0] !== undefined && sent[0].id === sent[1]?.id,
      guests,
    }),
  );
}
