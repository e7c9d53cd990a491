/**
 * Tests of the working copy's wrangler.toml. Operators may edit ids and vars, so no test depends on
 * their values.
 */

import { readFileSync } from 'node:fs';
import { parse } from 'smol-toml';
import { expect, it } from 'vitest';
import { readWranglerConfig } from '../../../tools/configuration/wrangler-toml.ts';
import { TEST_VARS } from '../../support/vars.ts';

const config = readWranglerConfig(process.cwd());

const environments = Object.entries(config.env);

it('defines the environment staging', () => {
  expect(Object.keys(config.env)).toContain('staging');
});

it.each(environments)('defines the same vars for %s as for production', (_, { vars }) => {
  const names = Object.keys(config.vars).sort();
  expect(names).toEqual(expect.arrayContaining(Object.keys(TEST_VARS)));
  expect(Object.keys(vars).sort()).toEqual(names);
});

it.each(environments)(
  'names the resources of %s differently from those of production',
  (_, settings) => {
    expect(settings.name).not.toBe(config.name);
    expect(settings.d1_databases[0]?.database_name).not.toBe(config.d1_databases[0]?.database_name);
    expect(settings.durable_objects).toEqual(config.durable_objects);
    expect(settings.version_metadata).toEqual(config.version_metadata);
  },
);

it('names the local database independently of its id on Cloudflare', () => {
  for (const { d1_databases } of [config, ...Object.values(config.env)]) {
    expect(d1_databases[0]?.preview_database_id).toBe('DB');
  }
});

it('keeps Cloudflare from storing query strings, invocation logs or traces', () => {
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
  // The environments inherit the settings `observability` and `limits`.
  for (const settings of Object.values(config.env)) {
    expect(settings).not.toHaveProperty('observability');
    expect(settings).not.toHaveProperty('limits');
  }
});
