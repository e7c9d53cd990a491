/**
 * Which catalogue version is current after imports and rewinds. The tests include lagging replicas,
 * confirmations that isolates share, and outdated entries in the edge cache.
 */

import { env } from 'cloudflare:workers';
import { describe, expect, it, vi } from 'vitest';
import { CatalogueVersions } from '../../src/properties/versions.ts';
import { Random } from '../simulation/random.ts';
import {
  faultsOfD1,
  freshPath,
  isolate,
  laggingReplica,
  readPrimary,
  rename,
  setSecond,
  turnInto,
  useDataCentre,
} from '../support/data-centre.ts';
import { DOWN } from '../support/faults.ts';
import { interceptD1 } from '../support/interceptor.ts';

const here = useDataCentre();

const makeVersion = (number: number) => ({ id: `version ${number}`, generation: 'one', number });

/** Runs an action. Returns the entries that the action put into the edge cache. */
async function recordPuts(action: () => Promise<unknown>) {
  const puts: { address: string; entry: Response }[] = [];
  const edge = caches.default;
  const put = edge.put.bind(edge);
  const spy = vi.spyOn(edge, 'put').mockImplementation(async (address, entry) => {
    puts.push({ address: String(address), entry: entry.clone() });
    await put(address, entry);
  });
  await action();
  spy.mockRestore();
  return puts;
}

describe('an earlier version', () => {
  it.each([
    [63, 'stale'],
    [64, 'expired'],
  ])('expires after 64 newer imports (%i → %s)', (count, kind) => {
    const versions = new CatalogueVersions(60_000, 3_600_000);
    for (let number = 0; number <= count; number += 1) {
      versions.confirm(makeVersion(number), Date.now(), false);
    }
    expect(versions.getFreshness(makeVersion(0)).kind).toBe(kind);
  });

  it('remains earlier even if a lagging replica confirms it last', () => {
    const versions = new CatalogueVersions(60_000, 3_600_000);
    const [earlier, current] = [makeVersion(12), makeVersion(13)];
    versions.confirm(earlier, Date.now(), false);
    versions.adopt([{ version: current, at: Date.now() - 10_000 }]);
    expect(versions.isLater(current, earlier)).toBe(true);
    expect(versions.isLater(earlier, current)).toBe(false);
  });

  it.each(['this', 'another'])(
    'does not replace a newer response when %s isolate reads it late',
    async (which) => {
      const opened = Promise.withResolvers<void>();
      const called = Promise.withResolvers<void>();
      const DB = interceptD1(env.DB, async (call) => {
        const results = await call();
        called.resolve();
        await opened.promise;
        return results;
      });
      const reader = which === 'this' ? here.one : isolate();
      const late = reader.get({ DB }, { path: freshPath() });
      await called.promise;
      await rename('After');
      await here.one.get({}, { path: freshPath() });
      opened.resolve();
      await late;
      for (const secondReader of [here.one, isolate()])
        expect(await secondReader.read(DOWN)).toMatch(/^After: .*hit; ttl=60/);
    },
  );

  it('is not served even if it replaces a newer entry at the edge', async () => {
    const reader = isolate();
    const puts = await recordPuts(() => reader.get({}, { path: freshPath() }));
    await rename('After');
    await reader.get({}, { path: freshPath() });
    const replace = async () => {
      for (const { address, entry } of puts) {
        if (entry.headers.has('ETag')) await caches.default.put(address, entry.clone());
      }
    };
    await replace();
    const other = isolate();
    expect(await other.read()).toBe('After: edge; fwd=stale, isolate; fwd=miss');
    expect(await other.read()).toBe('After: isolate; hit; ttl=60');
    await replace();
    setSecond(61);
    expect(await reader.read(DOWN)).toMatch(/^After: isolate; hit; ttl=-1; /);
  });

  it.each([
    ['an import', 1, undefined],
    ['a rewind', -100, 'another'],
  ])(
    'is read again from the primary if a replica without %s returns it',
    async (_, added, generation) => {
      await rename('Between');
      const DB = await laggingReplica();
      await turnInto('After', added, generation);
      await here.one.get({ DB }, { path: freshPath() });
      for (const second of [50, 60, 200]) {
        setSecond(second);
        expect(await here.one.read({ DB })).toMatch(/^After/);
      }
      expect(faultsOfD1()).toEqual([]);
    },
  );
});

describe('a rewind', () => {
  it.each([
    ['the same number again', 0, undefined],
    ['a smaller number', -1, undefined],
    ['another generation', -100, 'another'],
  ])('replaces the later state permanently (%s)', async (_, added, generation) => {
    setSecond(30);
    await here.one.read();
    await turnInto('Rewound', added, generation);
    for (const second of [61, 107]) {
      setSecond(second);
      for (const reader of [here.one, isolate(), here.one])
        expect(await reader.read()).toMatch(/^Rewound/);
    }
  });

  // The shared confirmation of `After` is 61 s old, but the isolate has just confirmed `Rewound`.
  it('is not undone by an old shared confirmation', async () => {
    await rename('After');
    await isolate().get({}, { path: freshPath() });
    await turnInto('Rewound', -1);
    setSecond(61);
    const other = isolate();
    await other.get({}, { path: freshPath() });
    expect(await other.read(DOWN)).toBe('Rewound: isolate; hit; ttl=60');
  });
});

describe('an isolate', () => {
  it('adopts a newer version from a shared confirmation without reading D1', async () => {
    await rename('After');
    await isolate().get({}, { path: freshPath() });
    // The response stays fresh for 16 s, so neither the edge cache nor D1 is queried.
    setSecond(44);
    expect(await here.one.read()).toMatch(/^Before: isolate; hit/);
    // The response is stale, but the shared confirmation is recent because the other isolate revalidated.
    const other = isolate();
    setSecond(50);
    await other.read();
    setSecond(70);
    expect(await here.one.read(DOWN)).toBe('After: edge; hit; ttl=40, isolate; fwd=stale');
  });

  // A replica returns one of the last five states at random, and the primary returns the latest. An
  // isolate must never return an earlier state than before.
  it.each([1, 2, 3])('never goes back to an earlier version (seed %i)', async (seed) => {
    const random = new Random(`versions-${seed}`);
    const isolates = [here.one, isolate(), isolate()].map((reader) => ({
      ...reader,
      lastState: 0,
    }));
    const states = [await readPrimary()];
    const replica = await laggingReplica(() => random.pick(states.slice(-5)));
    let second = 0;
    for (let step = 1; step <= 120; step += 1) {
      second += random.between(0, 20);
      setSecond(second);
      if (random.chance(0.3)) {
        await rename(`State ${step}`);
        states.push(await readPrimary());
      }
      const reader = random.pick(isolates);
      const path = random.chance(0.1) ? freshPath() : undefined;
      const response = await reader.get({ DB: replica }, path === undefined ? {} : { path });
      const { name } = await response.json<{ name: string }>();
      const state = name === 'Before' ? 0 : Number(name.replace('State ', ''));
      expect(state).toBeGreaterThanOrEqual(reader.lastState);
      reader.lastState = state;
    }
  });
});

describe('the edge cache', () => {
  it('has separate entries for two versions of the Worker', async () => {
    const addresses = new Set<string>();
    for (const id of ['one', 'two']) {
      const worker = isolate({ CF_VERSION_METADATA: { id, tag: '', timestamp: '' } });
      const puts = await recordPuts(() => worker.read());
      // One entry is the response, and the other contains the confirmations.
      expect(puts).toHaveLength(2);
      for (const { address } of puts) addresses.add(address);
    }
    expect(addresses.size).toBe(4);
  });
});
