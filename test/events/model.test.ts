/**
 * Compares random histories of the service with a model of its promises. A history has single and
 * concurrent requests, a clock that moves on, and KV entries that are lost or return in an older state.
 */

import { env, exports } from 'cloudflare:workers';
import * as fc from 'fast-check';
import { v5 } from 'uuid';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { bookingCreated, ingestInit } from '../support/events.ts';
import { API_KEY, expectDocumented, freshAddress } from '../support/http.ts';

const RUNS = env.TEST_FULL === '1' ? 1_000 : 30;
const NAMESPACE = '3c0f4e0e-7b52-4d0c-9a56-1f2be2d7c9a4';
const DAY_MS = 24 * 3_600_000;

const BODIES = {
  A: bookingCreated({ payload: { guests: 1 } }),
  B: bookingCreated({ payload: { guests: 2 } }),
  C: bookingCreated({ payload: { guests: 3 } }),
  /** An invalid body. */
  invalid: bookingCreated({ payload: { guests: 0 } }),
};
type BodyName = keyof typeof BODIES;
type KeyName = 'k' | 'l';

type Step =
  | { do: 'send'; key: KeyName; body: BodyName }
  | { do: 'race'; key: KeyName; bodies: BodyName[] }
  | { do: 'advance'; ms: number }
  | { do: 'lose KV entry'; key: KeyName }
  | { do: 'bring back KV entry'; key: KeyName };

/** The promises for one key. */
class Model {
  readonly ids = new Map<BodyName, string>();
  holder: { body: BodyName; at: number } | undefined;
  readonly keyId: string;

  constructor(keyId: string) {
    this.keyId = keyId;
  }

  /** Returns the promised status of one request, and the rule that promises it. */
  answer(body: BodyName, now: number): { status: number; rule: string } {
    const isHeld = this.holder !== undefined && now - this.holder.at < DAY_MS;
    const isKnown = this.ids.has(body);
    if (isHeld && this.holder?.body === body) return { status: 200, rule: 'replay within 24 h' };
    if (isHeld && isKnown) return { status: 409, rule: 'older body within the 24 h of a newer' };
    if (isHeld) return { status: 409, rule: 'another body within 24 h' };
    const after = this.ids.size > 1 ? 'after 24 h, of several bodies' : 'after 24 h';
    if (isKnown) return { status: 200, rule: `replay ${after}` };
    if (body === 'invalid') return { status: 400, rule: 'refused by the schema' };
    const rule = this.holder === undefined ? 'first of a key' : 'new body after 24 h';
    return { status: 202, rule };
  }

  accept(body: BodyName, now: number, id: string): void {
    this.ids.set(body, id);
    this.holder = { body, at: now };
  }
}

const key = fc.constantFrom<KeyName>('k', 'k', 'k', 'l');
const body = fc.constantFrom<BodyName>('A', 'A', 'A', 'B', 'B', 'C', 'invalid');
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('send'), key, body }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('race'),
      key,
      bodies: fc.array(body, { minLength: 2, maxLength: 6 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('advance'),
      ms: fc.constantFrom(1, 3_600_000, DAY_MS - 1, DAY_MS, DAY_MS, DAY_MS + 1),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lose KV entry'), key }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('bring back KV entry'), key }) },
);

/** A history that every rule applies to: the random ones vary it. */
const WITH_EVERY_RULE: Step[] = [
  { do: 'send', key: 'k', body: 'A' },
  { do: 'lose KV entry', key: 'k' },
  { do: 'send', key: 'k', body: 'A' },
  { do: 'race', key: 'k', bodies: ['B', 'invalid'] },
  { do: 'send', key: 'l', body: 'invalid' },
  { do: 'race', key: 'l', bodies: ['A', 'B', 'A'] },
  { do: 'advance', ms: DAY_MS },
  { do: 'send', key: 'l', body: 'A' },
  { do: 'send', key: 'l', body: 'B' },
  { do: 'send', key: 'k', body: 'A' },
  { do: 'send', key: 'k', body: 'B' },
  { do: 'bring back KV entry', key: 'k' },
  { do: 'send', key: 'k', body: 'A' },
  { do: 'advance', ms: DAY_MS },
  { do: 'send', key: 'k', body: 'A' },
];

/** Counts how often each rule applied, over all runs. */
const met = new Map<string, number>();
const meet = (rule: string) => met.set(rule, (met.get(rule) ?? 0) + 1);

/** One history: a service with two fresh keys. */
class History {
  readonly run = crypto.randomUUID();
  readonly address = freshAddress();
  readonly models = {
    k: new Model(v5(`${this.run}-k`, NAMESPACE)),
    l: new Model(v5(`${this.run}-l`, NAMESPACE)),
  };
  /** Every entry that KV has held for a key. */
  readonly seen = { k: new Set<string>(), l: new Set<string>() };
  /** The last thing that happened to the KV entry of a key. */
  readonly kv: Partial<Record<KeyName, string>> = {};

  async take(step: Step): Promise<void> {
    switch (step.do) {
      case 'send':
        return this.check(step.key, [step.body]);
      case 'race':
        return this.check(step.key, step.bodies);
      case 'advance':
        vi.setSystemTime(Date.now() + step.ms);
        return undefined;
      case 'lose KV entry':
        this.kv[step.key] = 'lost';
        return env.IDEMPOTENCY.delete(this.models[step.key].keyId);
      case 'bring back KV entry': {
        const [oldest] = this.seen[step.key];
        if (oldest === undefined) return undefined;
        this.kv[step.key] = 'stale';
        return env.IDEMPOTENCY.put(this.models[step.key].keyId, oldest);
      }
    }
  }

  /** Sends bodies at once and compares the responses with the model. Any order of the bodies is allowed. */
  private async check(key: KeyName, bodies: readonly BodyName[]): Promise<void> {
    const model = this.models[key];
    const now = Date.now();
    const answers = await Promise.all(bodies.map((body) => this.send(key, body)));
    const accepted = answers.find(({ status }) => status === 202);
    const before = bodies.map((body) => model.answer(body, now));
    expect(accepted !== undefined).toBe(before.some(({ status }) => status === 202));
    if (accepted !== undefined) {
      meet(model.answer(accepted.body, now).rule);
      expect(model.answer(accepted.body, now).status).toBe(202);
      const isFirst = model.ids.size === 0;
      expect(accepted.id).toBe(
        isFirst ? model.keyId : v5(FINGERPRINTS[accepted.body], model.keyId),
      );
      model.accept(accepted.body, now, accepted.id ?? '');
    }
    for (const [index, answer] of answers.entries()) {
      if (answer === accepted) continue;
      const after = model.answer(answer.body, now);
      const possible = [after, ...(accepted && before[index] ? [before[index]] : [])].filter(
        ({ status }) => status !== 202,
      );
      const outcome = possible.find(({ status }) => status === answer.status);
      expect(outcome, `${answer.status} for ${answer.body}`).toBeDefined();
      if (outcome !== undefined) meet(outcome.rule);
      if (answer.status === 200) expect(answer.id).toBe(model.ids.get(answer.body));
    }
    if (bodies.length > 1) meet(accepted ? 'race for a free key' : 'race for a held key');
    if (this.kv[key] !== undefined) meet(`with the KV entry ${this.kv[key]}`);
    const entry = await env.IDEMPOTENCY.get(model.keyId);
    if (entry !== null) this.seen[key].add(entry);
  }

  private async send(key: KeyName, body: BodyName) {
    const init = ingestInit(BODIES[body], `${this.run}-${key}`);
    const request = new Request('https://api.example.com/api/public/events/ingest', init);
    request.headers.set('x-api-key', API_KEY);
    request.headers.set('CF-Connecting-IP', this.address);
    const response = await exports.default.fetch(request);
    await expectDocumented(request, response);
    const { id } = await response.json<{ id?: string }>();
    return { body, id, status: response.status };
  }

  async expectNothingStoredTwice(): Promise<void> {
    for (const { keyId, ids } of Object.values(this.models)) {
      const { results } = await env.DB.prepare(
        'SELECT id FROM events WHERE key_id = ? ORDER BY seq',
      )
        .bind(keyId)
        .all<{ id: string }>();
      expect(results.map(({ id }) => id)).toEqual([...ids.values()]);
    }
  }
}

const FINGERPRINTS: Record<BodyName, string> = { A: '', B: '', C: '', invalid: '' };

beforeEach(async () => {
  for (const [index, name] of (['A', 'B', 'C'] as const).entries()) {
    const canonical = `{"aggregate_id":"bk_1","aggregate_type":"booking","event_type":"booking.created","payload":{"guests":${index + 1}}}`;
    const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(canonical));
    FINGERPRINTS[name] = Array.from(new Uint8Array(bytes), (byte) =>
      byte.toString(16).padStart(2, '0'),
    ).join('');
  }
  vi.useFakeTimers({ toFake: ['Date'] });
});

afterEach(() => {
  vi.useRealTimers();
});

it('answers every history as promised', { timeout: RUNS * 1_500 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), async (steps) => {
      const history = new History();
      for (const each of steps) await history.take(each);
      await history.expectNothingStoredTwice();
    }),
    { numRuns: RUNS, examples: [[WITH_EVERY_RULE]] },
  );
  const table = [...met].sort(([a], [b]) => a.localeCompare(b));
  console.log(
    `${table.map(([rule, times]) => `${String(times).padStart(6)}  ${rule}`).join('\n')}`,
  );
  expect(table.map(([rule]) => rule)).toEqual([
    'another body within 24 h',
    'first of a key',
    'new body after 24 h',
    'older body within the 24 h of a newer',
    'race for a free key',
    'race for a held key',
    'refused by the schema',
    'replay after 24 h',
    'replay after 24 h, of several bodies',
    'replay within 24 h',
    'with the KV entry lost',
    'with the KV entry stale',
  ]);
});
