import { expect, it } from 'vitest';
import { showProgress } from '../../../tools/command-line/progress.ts';

function shownOn(isTTY: boolean): string[] {
  let shown = '';
  const write = (text: string) => {
    shown += text;
    return true;
  };
  using progress = showProgress({ isTTY, write });
  for (let done = 5; done <= 2_500; done += 5) progress.update('listings checked', done, 2_500);
  progress.update('listings rendered', 200, 200);
  progress.update('listings staged', 199, 199);
  return shown.trim().split('\n');
}

it('progress is a line at least every 1,000 steps where there is no terminal', () => {
  const counts = [900, 1800, 2500].map((done) => `${done} of 2500 listings checked`);
  expect(shownOn(false)).toEqual([...counts, '200 of 200 listings rendered']);
});

it('a long job has twenty lines, which say how much time is left', () => {
  const lines: string[] = [];
  let now = 0;
  const write = (text: string) => lines.push(text) > 0;
  using progress = showProgress({ write }, () => now);
  // It continues after 200,000 rows.
  for (let done = 200_000; done <= 1_000_000; done += 1_000) {
    progress.update('rows', done, 1_000_000);
    now += 500;
  }
  expect(lines).toHaveLength(17);
  expect(lines.slice(0, 2)).toEqual([
    '200000 of 1000000 rows\n',
    '250000 of 1000000 rows, about 6 min left\n',
  ]);
  expect(lines.slice(-2)).toEqual([
    '950000 of 1000000 rows, about 25 s left\n',
    '1000000 of 1000000 rows\n',
  ]);
});

it('progress is a bar on a terminal, one line per phase, drawn a hundred times', () => {
  const [checked = '', ...others] = shownOn(true);
  expect(checked.split('\r')).toHaveLength(100);
  expect(checked).toContain(`\r${'█'.repeat(15)}${'░'.repeat(15)} 1250 of 2500 listings checked`);
  expect(others).toEqual([`\r${'█'.repeat(30)} 200 of 200 listings rendered`]);
});
