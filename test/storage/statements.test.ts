/** The SQL of every list, as `keysetPage` composes it: to be read here in one place. */

import { env } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import { expectStatus, sendWith } from '../support/http.ts';

/** Returns the statements that a request prepares, without the names of tables before columns. */
async function statementsOf(path: string): Promise<string[]> {
  const statements: string[] = [];
  const recording = <Target extends object>(target: Target): Target =>
    new Proxy(target, {
      get: (_, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...values: unknown[]) => {
          if (name === 'prepare') statements.push(String(values[0]));
          const result: unknown = Reflect.apply(value, target, values);
          return name === 'withSession' ? recording(Object(result)) : result;
        };
      },
    });
  await expectStatus(await sendWith({ DB: recording(env.DB), FEED_CACHE_SECONDS: '0' }, path), 200);
  return statements.map(readable);
}

function readable(statement: string): string {
  return statement
    .replaceAll(/"\w+"\."(\w+)"|"(\w+)"/g, '$1$2')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ (where \(|where \w+ [<>]|union all|order by)/g, '\n$1')
    .replaceAll(/\(\d+\)(,\(\d+\))+/g, '(0),…')
    .trim();
}

it.each([
  '/api/v1/web/properties',
  '/api/v1/web/property-cards?status=listed,sold_out&location=aran',
  '/api/v1/web/property-changes',
  '/api/v1/web/locations',
  '/api/v1/events?aggregate_id=b-1',
  '/api/v1/events?order=asc&type=booking.created,booking.cancelled&id=0b8e6a52-5c1e-4f0e-8a41-54f3a1f0a001',
])('%s', async (path) => {
  expect((await statementsOf(path)).join(';\n')).toMatchSnapshot();
});
