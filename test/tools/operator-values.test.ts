/** The commands and tests of a working copy in whose wrangler.toml an operator has set values. */

import { readFileSync } from 'node:fs';
import { parse, stringify } from 'smol-toml';
import { describe, expect, it } from 'vitest';
import { readWranglerConfig } from '../../tools/configuration/wrangler-config.ts';
import { neutralConfig } from '../support/node/neutral-config.ts';
import { copyWithStore } from '../support/node/stores.ts';
import { TEST_VARS } from '../support/vars.ts';

const SET = {
  PUBLIC_SITE_URL: 'https://homes.operator.example',
  CORS_ORIGINS: 'https://homes.operator.example',
  JWT_ISSUER: 'https://login.operator.example/',
  JWT_AUDIENCE: 'operator',
  JWT_JWKS_URL: 'https://login.operator.example/keys',
};

/** wrangler.toml as an operator may leave it. */
function operated(text: string): string {
  const config = parse(text) as Record<string, unknown>;
  const [database] = config.d1_databases as object[];
  const [namespace] = config.kv_namespaces as object[];
  return stringify({
    ...config,
    account_id: 'b'.repeat(32),
    routes: [{ pattern: 'api.operator.example', custom_domain: true }],
    vars: { ...(config.vars as object), ...SET },
    d1_databases: [{ ...database, database_id: '11111111-1111-4111-8111-111111111111' }],
    kv_namespaces: [{ ...namespace, id: 'c'.repeat(32) }],
  });
}

const committed = readFileSync('wrangler.toml', 'utf8');

describe('values that an operator sets in wrangler.toml', () => {
  it.runIf(process.env.FULL === '1')('lead wrangler to no other local database', async () => {
    const project = await copyWithStore('empty');
    try {
      project.write('wrangler.toml', operated(committed));
      const list = await project.wrangler(['d1', 'migrations', 'list', 'DB', '--local', '--env=']);
      expect(list.stdout).toContain('No migrations to apply');
    } finally {
      await project.remove();
    }
  });

  it('reach no scratch copy of the tests', () => {
    expect(parse(neutralConfig(operated(committed)))).toEqual(parse(neutralConfig(committed)));
    expect(neutralConfig(operated(committed))).not.toContain('operator');
  });
});

describe('wrangler.toml', () => {
  const config = readWranglerConfig(process.cwd());

  it('gives every var of production to each environment, and each resource another name', () => {
    const names = Object.keys(config.vars).sort();
    expect(names).toEqual(expect.arrayContaining(Object.keys(TEST_VARS)));
    for (const [name, own] of Object.entries(config.env)) {
      expect([name, Object.keys(own.vars).sort()]).toEqual([name, names]);
      expect(own.name).not.toBe(config.name);
      expect(own.d1_databases[0]?.database_name).not.toBe(config.d1_databases[0]?.database_name);
      expect(own.durable_objects).toEqual(config.durable_objects);
      expect(own.version_metadata).toEqual(config.version_metadata);
      expect(own.d1_databases[0]?.preview_database_id).toBe('DB');
    }
    expect(Object.keys(config.env)).toContain('staging');
  });

  it('has the platform keep no query, no record of its own and no trace, in each environment', () => {
    expect(parse(readFileSync('wrangler.toml', 'utf8'))).toMatchObject({
      observability: {
        enabled: true,
        redact_query_string: true,
        logs: { enabled: true, invocation_logs: false },
        traces: { enabled: false },
      },
      limits: { cpu_ms: 1_000 },
      dev: { port: 3001 },
    });
    // Wrangler's environments inherit both.
    for (const [name, own] of Object.entries(config.env)) {
      const changed = Object.keys(own).filter((key) => /^(observability|limits)$/.test(key));
      expect([name, changed]).toEqual([name, []]);
    }
  });
});
