import { expect, it } from 'vitest';
import { showProgress } from '../../../tools/command-line/progress.ts';

function listLines(isTTY: boolean): string[] {
  let output = '';
  const write = (text: string) => {
    output += text;
    return true;
  };
  using progress = showProgress({ isTTY, write });
  for (let done = 5; done <= 2_500; done += 5) progress.update('listings checked', done, 2_500);
  progress.update('listings rendered', 200, 200);
  progress.update('listings staged', 199, 199);
  return output.trim().split('\n');
}

it('prints a line at least every 1,000 steps if the output is not a terminal', () => {
  const counts = [900, 1800, 2500].map((done) => `${done} of 2500 listings checked`);
  expect(listLines(false)).toEqual([...counts, '200 of 200 listings rendered']);
});

it('estimates the remaining time of a long job', () => {
  const lines: string[] = [];
  let now = 0;
  const write = (text: string) => lines.push(text) > 0;
  using progress = showProgress({ write }, () => now);
  // An earlier run has already completed 200,000 rows.
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

it('redraws the bar of each phase up to 100 times on a terminal', () => {
  const [checked = '', ...others] = listLines(true);
  expect(checked.split('\r')).toHaveLength(100);
  expect(checked).toContain(`\r${'█'.repeat(15)}${'░'.repeat(15)} 1250 of 2500 listings checked`);
  expect(others).toEqual([`\r${'█'.repeat(30)} 200 of 200 listings rendered`]);
});
