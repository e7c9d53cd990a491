/** The wrangler.toml of the working copy. An operator can have edited it, so no test depends on its ids or on values of its vars. */

import { readFileSync } from 'node:fs';
import { parse } from 'smol-toml';
import { expect, it } from 'vitest';
import { readWranglerConfig } from '../../../tools/configuration/wrangler-toml.ts';
import { TEST_VARS } from '../../support/vars.ts';

const config = readWranglerConfig(process.cwd());

const environments = Object.entries(config.env);

it('defines staging', () => {
  expect(Object.keys(config.env)).toContain('staging');
});

it.each(environments)('gives every var of production to %s', (_, { vars }) => {
  const names = Object.keys(config.vars).sort();
  expect(names).toEqual(expect.arrayContaining(Object.keys(TEST_VARS)));
  expect(Object.keys(vars).sort()).toEqual(names);
});

it.each(environments)('gives other names to the resources of %s', (_, settings) => {
  expect(settings.name).not.toBe(config.name);
  expect(settings.d1_databases[0]?.database_name).not.toBe(config.d1_databases[0]?.database_name);
  expect(settings.durable_objects).toEqual(config.durable_objects);
  expect(settings.version_metadata).toEqual(config.version_metadata);
});

it('names the local database, which an id of an operator does not change', () => {
  for (const { d1_databases } of [config, ...Object.values(config.env)]) {
    expect(d1_databases[0]?.preview_database_id).toBe('DB');
  }
});

it('stops the platform from storing queries, invocation records or traces', () => {
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
  for (const settings of Object.values(config.env)) {
    expect(settings).not.toHaveProperty('observability');
    expect(settings).not.toHaveProperty('limits');
  }
});
