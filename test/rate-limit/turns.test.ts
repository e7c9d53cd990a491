/** Requests that pause get their turn, however busy the isolate is. */

import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import { openNextWindow } from '../../src/rate-limit/counting.ts';
import { Pool } from '../../src/rate-limit/pool.ts';
import { Turns } from '../../src/rate-limit/turns.ts';

it('ask nobody to pause while nobody does', () => {
  const turns = new Turns();
  for (let request = 0; request < 100; request += 1) expect(turns.beginRequest()).toBe(false);
});

it('ask every request beyond twenty to pause while another one pauses, until it has looked', async () => {
  const turns = new Turns();
  const pause = turns.pause(1);
  const asked = Array.from({ length: 22 }, () => turns.beginRequest());
  expect(asked.indexOf(true)).toBe(20);
  expect(asked.at(-1)).toBe(true);
  const other = turns.pause(1);
  await pause;
  expect(turns.beginRequest()).toBe(false);
  await other;
});

it('ask nobody to pause while the next window of a client is waited for', async () => {
  const turns = new Turns();
  const pool = new Pool(100);
  pool.begin(4, Date.now());
  const opening = openNextWindow(
    {
      objects: env.RATE_COUNTER,
      counter: 'default',
      client: '192.0.2.1',
      limit: 100,
      pool,
      turns,
      inBackground: () => {},
    },
    1,
  );
  for (let request = 0; request < 100; request += 1) expect(turns.beginRequest()).toBe(false);
  await opening;
});
