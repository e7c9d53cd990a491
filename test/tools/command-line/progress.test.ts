import { describe, expect, it } from 'vitest';
import { showProgress } from '../../../tools/command-line/progress.ts';

describe('progress, which 199 steps do not have,', () => {
  function shownOn(isTTY: boolean): string {
    let shown = '';
    const progress = showProgress({
      isTTY,
      write: (text) => {
        shown += text;
        return true;
      },
    });
    for (let done = 5; done <= 2_500; done += 5) progress.update('listings checked', done, 2_500);
    progress.update('listings rendered', 200, 200);
    progress.update('listings staged', 199, 199);
    progress.end();
    return shown;
  }

  it('is a line at least every 1,000 steps where there is no terminal', () => {
    expect(shownOn(false).trim().split('\n')).toEqual([
      '900 of 2500 listings checked',
      '1800 of 2500 listings checked',
      '2500 of 2500 listings checked',
      '200 of 200 listings rendered',
    ]);
  });

  it('is a bar on a terminal, one line per phase, drawn a hundred times', () => {
    const lines = shownOn(true).trim().split('\n');
    expect(lines.map((line) => line.split('\r').at(-1))).toEqual([
      `${'█'.repeat(30)} 2500 of 2500 listings checked`,
      `${'█'.repeat(30)} 200 of 200 listings rendered`,
    ]);
    expect(`\r${lines[0]}`.match(/\r/g)).toHaveLength(100);
    expect(lines[0]).toContain(`\r${'█'.repeat(15)}${'░'.repeat(15)} 1250 of 2500`);
  });
});
