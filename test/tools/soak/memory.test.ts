import { describe, expect, it } from 'vitest';
import { findGrowth } from '../../../tools/soak/memory.ts';

describe('growth of memory', () => {
  const before = { live: 20, resident: 300 };
  it.each([
    [{ live: 25.9, resident: 300 }, 1_000, []],
    [{ live: 26.1, resident: 300 }, 1_000, ['the isolate holds 6.1 MB more after 1000 requests']],
    [{ live: 20, resident: 315 }, 0, []],
    [{ live: 20, resident: 317 }, 0, ['workerd takes 17 MB more after 0 requests']],
    [{ live: 20, resident: 331 }, 2_048, []],
    [{ live: 20, resident: 333 }, 2_048, ['workerd takes 33 MB more after 2048 requests']],
    [{ live: 5, resident: 250 }, 9, []],
  ])('to %j after %i requests is %j', (after, requests, problems) => {
    expect(findGrowth(before, after, requests)).toEqual(problems);
  });
});
