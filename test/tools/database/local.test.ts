import { expect, it } from 'vitest';
import { retryWhileBusy } from '../../../tools/database/local.ts';
import { Database } from '../../support/cloudflare/database.ts';

it('a call is repeated while another program has locked the file, and fails at once on another fault', async () => {
  const { binding } = new Database('busy');
  const faults = [
    'D1_ERROR: database is locked: SQLITE_BUSY',
    'Failed to get session commit token',
  ];
  const batch = binding.batch.bind(binding);
  binding.batch = (statements) => {
    const fault = faults.shift();
    return fault === undefined ? batch(statements) : Promise.reject(new Error(fault));
  };
  const database = retryWhileBusy(binding);
  const sum = () => database.prepare('SELECT ? + 1 AS sum').bind(2).first('sum');
  expect(await sum()).toBe(3);
  faults.push('D1_ERROR: no such table', 'not reached');
  await expect(sum()).rejects.toThrow('no such table');
  expect(faults).toEqual(['not reached']);
});
