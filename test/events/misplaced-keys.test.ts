/** A key where the service does not look for it: ignored, it would store an event per retry. */

import { describe, expect, it } from 'vitest';
import { bookingCreated, expectEvent, ingestInit, listEvents } from '../support/events.ts';
import { expectError, expectStatus, send } from '../support/http.ts';

const INGEST = '/api/public/events/ingest';
const NOT_READ = expect.stringMatching(/^is not (read here|a parameter here|a field)/);

const MISSPELT = [
  'X-Idempotency-Key',
  'Idempotency_Key',
  'Idempotence-Key',
  'Idempotent-Key',
  'Idempotency-Token',
  'X-Idempotency-Token',
];

function initWith(headers: Record<string, string>, body: unknown): RequestInit {
  const init = ingestInit(body);
  return { ...init, headers: { ...init.headers, ...headers } };
}

describe.each(MISSPELT)('the header %s', (header) => {
  it('is rejected, and nothing is stored', async () => {
    const aggregate_id = crypto.randomUUID();
    const body = bookingCreated({ aggregate_id });
    const response = await send(INGEST, initWith({ [header.toLowerCase()]: 'k' }, body));
    const error = await expectError(response, 400, 'validation_error');
    expect(error.param).toBe(header);
    expect(error.details).toEqual([{ path: header, message: NOT_READ }]);
    expect((await listEvents(`aggregate_id=${aggregate_id}`)).data).toEqual([]);
  });

  it('is ignored beside an Idempotency-Key, and on a batch', async () => {
    const key = crypto.randomUUID();
    const headers = { [header]: 'k', 'Idempotency-Key': key };
    await expectEvent(await send(INGEST, initWith(headers, bookingCreated())), 202);
    const events = [{ ...bookingCreated(), idempotency_key: crypto.randomUUID() }];
    await expectStatus(await send(`${INGEST}/batch`, initWith({ [header]: 'k' }, { events })), 200);
  });
});

it('every problem outside and inside the body is listed', async () => {
  const headers = { 'X-Idempotency-Key': 'k', 'Idempotent-Key': 'k' };
  const response = await send(`${INGEST}?sort=a`, initWith(headers, bookingCreated({ more: 1 })));
  const error = await expectError(response, 400, 'validation_error');
  const paths = ['sort', 'Idempotent-Key', 'X-Idempotency-Key', 'more'];
  expect(error.details?.map(({ path }) => path)).toEqual(paths);
});

describe.each([INGEST, `${INGEST}/batch`])('the query of %s', (path) => {
  const body = path.endsWith('batch')
    ? { events: [{ ...bookingCreated(), idempotency_key: crypto.randomUUID() }] }
    : bookingCreated();

  it.each(['idempotency_key', 'Idempotency-Key', 'dry_run'])(
    'has no parameter %s',
    async (name) => {
      const response = await send(`${path}?${name}=k`, ingestInit(body));
      const error = await expectError(response, 400, 'validation_error');
      expect(error.param).toBe(name);
      expect(error.details).toEqual([{ path: name, message: NOT_READ }]);
    },
  );

  it('may have the parameters that links append', async () => {
    const response = await send(`${path}?utm_source=a&_=1`, ingestInit(body));
    await expectStatus(response, path.endsWith('batch') ? 200 : 202);
  });
});

describe.each(['event_id', 'idempotency_key', 'idempotencyKey'])('the field %s', (field) => {
  it.each([
    [INGEST, bookingCreated()],
    [`${INGEST}/batch`, { events: [{ ...bookingCreated(), idempotency_key: 'k' }] }],
  ])('of a body to %s is rejected', async (path, body) => {
    const response = await send(path, ingestInit({ ...body, [field]: 'k' }));
    const error = await expectError(response, 400, 'validation_error');
    expect(error.details).toEqual([{ path: field, message: NOT_READ }]);
  });
});
