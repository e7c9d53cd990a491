import { describe, expect, it } from 'vitest';
import { decide, type KeyedEvent } from '../../src/events/decision.ts';

const NOW = 1_000_000;
const RETENTION = 1_000;

const stored = (fingerprint: string, age: number, receipt = 'another'): KeyedEvent => ({
  id: `id-${fingerprint}`,
  type: 'booking.created',
  created_at: NOW - age,
  fingerprint,
  receipt,
});

const outcomeOf = (events: KeyedEvent[]) => {
  const decision = decide(events, {
    keyId: 'key',
    fingerprint: 'a',
    receipt: 'mine',
    now: NOW,
    retentionMs: RETENTION,
  });
  if (decision.kind === 'free') return 'free';
  const { id } = decision.kind === 'conflict' ? decision.holder : decision.event;
  return `${decision.kind} ${id}`;
};

describe('a request with body a', () => {
  it.each<[outcome: string, when: string, events: KeyedEvent[]]>([
    ['free', 'nothing is stored', []],
    ['accepted id-a', 'this very request stored it', [stored('a', 0, 'mine')]],
    ['replay id-a', 'a twin stored it', [stored('a', 0)]],
    ['replay id-a', 'it holds the key to the last', [stored('a', 999)]],
    ['replay id-a', 'it held the key until now', [stored('a', 1_000)]],
    ['conflict id-b', 'another body holds the key', [stored('b', 0)]],
    ['conflict id-b', 'another body holds the key to the last', [stored('b', 999)]],
    ['free', 'another body held the key until now', [stored('b', 1_000)]],
    ['conflict id-b', 'a newer body holds the key', [stored('b', 5), stored('a', 2_000)]],
    ['replay id-a', 'no body holds the key', [stored('b', 1_000), stored('a', 3_000)]],
    ['replay id-a', 'a later clock stored it', [stored('a', -50)]],
    [
      'accepted id-a',
      'it is the second body of the key',
      [stored('a', 0, 'mine'), stored('b', 2_000)],
    ],
  ])('is %s when %s', (outcome, _, events) => {
    expect(outcomeOf(events)).toBe(outcome);
  });
});
