import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unstable_getVarsForDev, unstable_readConfig } from 'wrangler';
import { readVars } from '../../../tools/development/dev-vars.ts';

let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'vars-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function write(name: string, text: string): void {
  writeFileSync(join(directory, name), text);
}

/** Reads the vars as wrangler itself does. */
async function varsOfWrangler(): Promise<Record<string, string>> {
  const config = join(directory, 'wrangler.toml');
  const { vars } = unstable_readConfig({ config });
  const bindings = unstable_getVarsForDev(config, undefined, vars, undefined, true);
  return Object.fromEntries(
    Object.entries(bindings).map(([name, { value }]) => [name, String(value)]),
  );
}

describe('the vars', () => {
  const TOML = `name = "feed"
compatibility_date = "2026-11-01"
[vars] # a comment
PLAIN = "as it is"
COMMENTED = "https://a.example/" # not part of it
SINGLE = 'C:\\no\\escape'
ESCAPED = "a \\"b\\" \\u00e9"
MANY = """
two
lines"""
NUMBER = 42
FLAG = true
"quoted-name" = "x"
OVERRIDDEN = "from wrangler.toml"
[observability]
enabled = true
`;
  const DEV_VARS = `\ufeffFIRST=after a byte order mark
  INDENTED = spaced
export EXPORTED=yes
COLON: yaml
OVERRIDDEN='it's' # a comment
DOUBLE="a\\nb # no comment"
TICKS=\`"'\`
EMPTY=
HASH=a#b
LINES="one
two"
`.replace('EMPTY=\n', 'EMPTY=\r\n');

  it('are the vars that wrangler reads', async () => {
    write('wrangler.toml', TOML);
    write('.dev.vars', DEV_VARS);
    const vars = readVars(directory);
    expect(Object.fromEntries(vars)).toEqual(await varsOfWrangler());
    expect(vars.get('COMMENTED')).toBe('https://a.example/');
    expect(vars.get('OVERRIDDEN')).toBe("it's");
  });

  it('cannot be read from a malformed wrangler.toml, which one line reports', () => {
    write('wrangler.toml', '[vars]\nA = \n');
    expect(() => readVars(directory)).toThrow(/^wrangler\.toml cannot be read: [^\n]+$/);
    write('wrangler.toml', 'name = 1\ncompatibility_date = "2026-11-01"');
    expect(() => readVars(directory)).toThrow('wrangler.toml cannot be read: name: ');
  });
});
