/** Requests that pause get their turn, however busy the isolate is. */

import { expect, it } from 'vitest';
import { Turns } from '../../src/rate-limit/turns.ts';

it('ask nobody to pause while nobody does', () => {
  const turns = new Turns();
  for (let request = 0; request < 100; request += 1) expect(turns.isOver()).toBe(false);
});

it('ask every request beyond twenty to pause while another one pauses, until it has looked', async () => {
  const turns = new Turns();
  const pause = turns.pause(1);
  const asked = Array.from({ length: 22 }, () => turns.isOver());
  expect(asked.indexOf(true)).toBe(20);
  expect(asked.at(-1)).toBe(true);
  const other = turns.pause(1);
  await pause;
  expect(turns.isOver()).toBe(false);
  await other;
});
