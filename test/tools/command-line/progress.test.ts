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

it('progress is a bar on a terminal, one line per phase, drawn a hundred times', () => {
  const [checked = '', ...others] = shownOn(true);
  expect(checked.split('\r')).toHaveLength(100);
  expect(checked).toContain(`\r${'█'.repeat(15)}${'░'.repeat(15)} 1250 of 2500 listings checked`);
  expect(others).toEqual([`\r${'█'.repeat(30)} 200 of 200 listings rendered`]);
});
