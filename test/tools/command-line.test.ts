/** The pure parts of the command-line programs. */

import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { showProgress } from '../../tools/command-line/progress.ts';
import { databaseConfig } from '../../tools/database/database-config.ts';
import { firstRequests } from '../../tools/development/first-requests.ts';
import { portOf } from '../../tools/development/port.ts';

const database = {
  binding: 'DB',
  database_name: 'listings',
  database_id: '11111111-1111-4111-8111-111111111111',
  preview_database_id: 'preview',
};
const worker = {
  name: 'feed',
  account_id: 'account',
  compatibility_date: '2026-11-01',
  d1_databases: [{ binding: 'OTHER' }, database],
};

describe('the configuration of the database', () => {
  it('keeps the ids locally, as the local state is found by them', () => {
    expect(databaseConfig(worker, { isRemote: false })).toEqual({
      name: 'feed',
      compatibility_date: '2026-11-01',
      d1_databases: [database],
    });
  });

  it('has wrangler connect the binding to the deployed database for --remote', () => {
    expect(databaseConfig(worker, { isRemote: true })).toEqual({
      name: 'feed',
      account_id: 'account',
      compatibility_date: '2026-11-01',
      d1_databases: [
        {
          binding: 'DB',
          database_name: 'listings',
          database_id: '11111111-1111-4111-8111-111111111111',
          remote: true,
        },
      ],
    });
  });

  it('says what is missing', () => {
    expect(() => databaseConfig({ d1_databases: [] }, { isRemote: false })).toThrow(
      'wrangler.toml has no D1 database with the binding DB',
    );
    expect(() => databaseConfig({ d1_databases: [{ binding: 'DB' }] }, { isRemote: true })).toThrow(
      'wrangler.toml gives no database_id',
    );
  });
});

describe('the port', () => {
  it.each([
    [undefined, undefined, 3001],
    ['', '', 3001],
    [undefined, '4000', 4000],
    ['5000', '4000', 5000],
    ['65535', undefined, 65_535],
  ])('is, with %j in the environment and %j in .dev.vars, %i', (environment, devVars, port) => {
    expect(portOf(environment, devVars)).toBe(port);
  });

  it.each(['0', '65536', '-1', '80.5', '1e3', 'http', ' 80'])('is not %j', (text) => {
    expect(() => portOf(text, undefined)).toThrow(
      `PORT must be a whole number from 1 to 65535, not "${text}"`,
    );
  });
});

describe('the first requests', () => {
  it('reach the shell as they are meant, whatever the key holds', () => {
    for (const key of ["it's", '$(id) `id`', 'a"b\\']) {
      const [, feed = ''] = firstRequests('http://localhost:3001', key);
      const words = execFileSync('sh', ['-c', feed.replace(/^curl/, "printf '%s\\n'")]);
      expect(words.toString().split('\n')).toContain(`x-api-key: ${key}`);
    }
  });
});

describe('progress', () => {
  function shownOn(isTTY: boolean): string {
    let shown = '';
    const progress = showProgress({
      isTTY,
      write: (text) => {
        shown += text;
        return true;
      },
    });
    for (let done = 50; done <= 2_500; done += 50) progress.update('listings checked', done, 2_500);
    progress.update('listings rendered', 3, 3);
    progress.end();
    return shown;
  }

  it('is a line at least every 1,000 steps where there is no terminal', () => {
    expect(shownOn(false).trim().split('\n')).toEqual([
      '900 of 2500 listings checked',
      '1800 of 2500 listings checked',
      '2500 of 2500 listings checked',
      '3 of 3 listings rendered',
    ]);
  });

  it('is a bar on a terminal, one line a phase', () => {
    const lines = shownOn(true).trim().split('\n');
    expect(lines.map((line) => line.split('\r').at(-1))).toEqual([
      `${'█'.repeat(30)} 2500 of 2500 listings checked`,
      `${'█'.repeat(30)} 3 of 3 listings rendered`,
    ]);
    expect(lines[0]).toContain(`\r${'█'.repeat(15)}${'░'.repeat(15)} 1250 of 2500`);
  });
});
