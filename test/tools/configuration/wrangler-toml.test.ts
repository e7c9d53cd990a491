/** The committed wrangler.toml, which an operator may have edited: no id and no var of it is read. */

import { readFileSync } from 'node:fs';
import { parse } from 'smol-toml';
import { expect, it } from 'vitest';
import { readWranglerConfig } from '../../../tools/configuration/wrangler-toml.ts';
import { TEST_VARS } from '../../support/vars.ts';

const config = readWranglerConfig(process.cwd());

it('gives every var of production to each environment, and each resource another name', () => {
  const names = Object.keys(config.vars).sort();
  expect(names).toEqual(expect.arrayContaining(Object.keys(TEST_VARS)));
  expect(Object.keys(config.env)).toContain('staging');
  for (const [name, own] of Object.entries(config.env)) {
    expect([name, Object.keys(own.vars).sort()]).toEqual([name, names]);
    expect(own.name).not.toBe(config.name);
    expect(own.d1_databases[0]?.database_name).not.toBe(config.d1_databases[0]?.database_name);
    expect(own.durable_objects).toEqual(config.durable_objects);
    expect(own.version_metadata).toEqual(config.version_metadata);
  }
});

it('names the local database, so that an id of an operator leads to no other one', () => {
  for (const { d1_databases } of [config, ...Object.values(config.env)]) {
    expect(d1_databases[0]?.preview_database_id).toBe('DB');
  }
});

it('the platform keeps no query, invocation record or trace, in each environment', () => {
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
  for (const own of Object.values(config.env)) {
    expect(own).not.toHaveProperty('observability');
    expect(own).not.toHaveProperty('limits');
  }
});
