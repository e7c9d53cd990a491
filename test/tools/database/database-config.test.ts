import { describe, expect, it } from 'vitest';
import { databaseConfig } from '../../../tools/database/database-config.ts';

describe('the configuration of the local database', () => {
  it('holds no id, so that none which an operator sets leads to another local database', () => {
    expect(databaseConfig({ name: 'feed', compatibility_date: '2026-11-01' })).toEqual({
      name: 'feed',
      compatibility_date: '2026-11-01',
      d1_databases: [{ binding: 'DB', database_name: 'DB' }],
    });
  });
});
