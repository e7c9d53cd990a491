import { expect, it } from 'vitest';
import { compareRates } from '../../../tools/bench/rates.ts';

it('compares the rates of the same round, and says how far the ratios of the rounds lie apart', () => {
  const compared = compareRates([100, 200, 150, 200, 200], [50, 100, 90, 80, 120]);
  expect(compared).toEqual({ ratio: 0.5, spread: expect.closeTo(0.2) });
});
