import { describe, expect, it } from 'vitest';
import { databaseConfig } from '../../../tools/database/database-config.ts';

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
