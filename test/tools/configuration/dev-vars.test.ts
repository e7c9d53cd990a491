import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { unstable_getVarsForDev, unstable_readConfig } from 'wrangler';
import { readVars } from '../../../tools/configuration/dev-vars.ts';

const TOML = `name = "feed"
compatibility_date = "2026-11-01"
[vars]
TEXT = "42"
NUMBER = 42
FLAG = true
OVERRIDDEN = "from wrangler.toml"
`;
const DEV_VARS = `\ufeffFIRST=after a byte order mark
export EXPORTED=yes
OVERRIDDEN='it's' # a comment
DOUBLE="a\\nb # no comment"
EMPTY=\r
LINES="one
two"
`;

it('reads the same vars from .dev.vars and wrangler.toml as wrangler does', () => {
  const folder = mkdtempSync(join(tmpdir(), 'vars-'));
  const config = join(folder, 'wrangler.toml');
  writeFileSync(config, TOML);
  writeFileSync(join(folder, '.dev.vars'), DEV_VARS);
  const { vars } = unstable_readConfig({ config });
  const bindings = unstable_getVarsForDev(config, undefined, vars, undefined, true);
  const expected = Object.entries(bindings).map(([name, { value }]) => [name, String(value)]);
  const actual = readVars(folder);
  expect([...actual].sort()).toEqual(expected.sort());
  expect(actual.get('OVERRIDDEN')).toBe("it's");
});
