import { describe, expect, it } from 'vitest';
import { figuresOf, verdictOf } from '../../../tools/bench/rates.ts';

describe('the rates of a benchmark', () => {
  it('are the median ratios to the health reads of the same rounds', () => {
    const figures = figuresOf([50, 100, 90, 80, 120], [100, 200, 150, 200, 200]);
    expect(figures).toEqual({ rate: 90, ratio: 0.5, apart: expect.closeTo(0.2) });
  });

  it('are not to be compared when the rounds differ by more than a fifth', () => {
    const quiet = { name: 'list of 25, hot', rate: 900, ratio: 0.8, apart: 0.2 };
    const noisy = { name: 'replay', rate: 10, ratio: 0.1, apart: 0.21 };
    expect(verdictOf([quiet])).toBe('The ratios can be compared with the ratios of another run.');
    expect(verdictOf([quiet, noisy])).toBe(
      'The machine was too noisy: compare nothing with this run. The ratios of the rounds lie over 20 % apart at replay.',
    );
  });
});
