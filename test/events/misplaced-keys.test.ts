/**
 * Idempotency keys in places that the service does not read. They are rejected unless the request also
 * has a valid key. Otherwise, each retry would be stored as a new event.
 */

import { expect, it } from 'vitest';
import { batchItem, bookingCreated, ingestInit, listEvents } from '../support/events.ts';
import { expectProblems, expectStatus, send } from '../support/http.ts';

const INGEST = '/api/public/events/ingest';
const BATCH = `${INGEST}/batch`;

type Headers = Record<string, string>;

const MISSPELT = [
  'X-Idempotency-Key',
  'Idempotency_Key',
  'Idempotence-Key',
  'Idempotent-Key',
  'Idempotency-Token',
  'X-Idempotency-Token',
];
const FIELDS = ['event_id', 'idempotency_key', 'idempotencyKey', 'Idempotency-Key'];
const PARAMETERS = [...MISSPELT, 'idempotency_key', 'idempotencyKey', 'Idempotency-Key'];

/** Posts one event, alone or in a batch. An event in a batch has a valid `idempotency_key`. */
function post(path: string, aggregate_id: string, headers: Headers = {}, fields: object = {}) {
  const body = path.startsWith(BATCH)
    ? { events: [batchItem({ aggregate_id })] }
    : bookingCreated({ aggregate_id });
  return send(path, ingestInit({ ...body, ...fields }, undefined, headers));
}

type Case = [where: string, paths: string[], path: string, headers?: Headers, fields?: object];

const CASES: Case[] = [
  ...MISSPELT.map((name): Case => [name, [name], INGEST, { [name.toLowerCase()]: 'k' }]),
  ...PARAMETERS.map((name): Case => [`the parameter ${name}`, [name], `${INGEST}?${name}=k`]),
  ...[INGEST, BATCH].flatMap((path) =>
    FIELDS.map((name): Case => [`the field ${name}`, [name], path, {}, { [name]: 'k' }]),
  ),
  [
    'every place',
    ['idempotency_key', 'Idempotent-Key', 'X-Idempotency-Key', 'event_id'],
    `${INGEST}?sort=a&idempotency_key=k`,
    { 'X-Idempotency-Key': 'k', 'Idempotent-Key': 'k' },
    { event_id: 'k' },
  ],
];

it.each(CASES)(
  'rejects a key that is sent as %s, with problems at %j (%s)',
  async (_, paths, path, headers, fields) => {
    const id = crypto.randomUUID();
    const response = await post(path, id, headers, fields);
    for (const message of await expectProblems(response, paths)) {
      expect(message).toMatch(
        /^is not (read here|a field).*\. Send the Idempotency-Key header, or/,
      );
    }
    expect((await listEvents(`aggregate_id=${id}`)).data).toEqual([]);
  },
);

it.each<[path: string, headers: Headers]>([
  ...MISSPELT.flatMap((name): [string, Headers][] => [
    [INGEST, { [name]: 'k', 'Idempotency-Key': crypto.randomUUID() }],
    [BATCH, { [name]: 'k' }],
  ]),
  ...[INGEST, BATCH].map((path): [string, Headers] => [`${path}?sort=a&event_id=k&dry_run=1`, {}]),
  [`${INGEST}?idempotency_key=k`, { 'Idempotency-Key': crypto.randomUUID() }],
  [`${BATCH}?idempotency_key=k`, {}],
])('stores an event that is sent to %s with the headers %j', async (path, headers) => {
  const id = crypto.randomUUID();
  await expectStatus(await post(path, id, headers), path.startsWith(BATCH) ? 200 : 202);
  expect((await listEvents(`aggregate_id=${id}`)).data).toHaveLength(1);
});
