import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { loadEnvFiles } from '../../../tools/cloudflare/account.ts';
import { parseWranglerToml } from '../../../tools/command-line/environment.ts';
import { readTextFile } from '../../../tools/command-line/text-file.ts';
import { readDevVars, setKeySet } from '../../../tools/configuration/dev-vars.ts';
import { ensureDevelopmentKeys } from '../../../tools/development/key-pair.ts';
import { appendToLedger, readLedger } from '../../../tools/erasure/ledger.ts';

const TEXT = 'API_KEY=Ángel\n';
const folder = mkdtempSync(join(tmpdir(), 'texts-'));

function write(bytes: Uint8Array, name = 'file'): string {
  const path = join(folder, name);
  writeFileSync(path, bytes);
  return path;
}

const toUtf16 = (text: string) => Buffer.from(text, 'utf16le');

it.each([
  ['UTF-8', Buffer.from(TEXT)],
  ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${TEXT}`)],
])('reads %s', (_, bytes) => {
  expect(readTextFile(write(bytes))).toBe(TEXT);
});

it.each([
  ['UTF-16 as PowerShell writes it', 'is in UTF-16', toUtf16(`\ufeff${TEXT}`)],
  ['UTF-16 in big-endian order', 'is in UTF-16', toUtf16(`\ufeff${TEXT}`).swap16()],
  ['UTF-16 without a byte order mark', 'is in UTF-16', toUtf16('API_KEY=a')],
  ['Latin-1', 'is not in UTF-8', Buffer.from(TEXT, 'latin1')],
])('rejects %s with advice on converting it', (_, reason, bytes) => {
  const path = write(bytes);
  expect(() => readTextFile(path)).toThrow(
    `${path} ${reason}. Save it as UTF-8 in an editor, or in PowerShell with Set-Content -Encoding utf8. The file was not changed`,
  );
});

const ERASURE = { lineage: '', aggregate: '', last_event_id: 'e', erased_at: '' };

describe('UTF-16 file', () => {
  it.each<[name: string, use: string, access: (path: string) => unknown]>([
    ['.dev.vars', 'read', () => readDevVars(folder)],
    ['.dev.vars', 'written', () => setKeySet(folder, {})],
    ['.dev.key.json', 'read', () => ensureDevelopmentKeys(folder)],
    ['wrangler.toml', 'read', () => parseWranglerToml(folder)],
    ['.env', 'loaded', () => loadEnvFiles(folder)],
    ['erasures.jsonl', 'read', (path) => readLedger(path)],
    ['erasures.jsonl', 'extended', (path) => appendToLedger(path, ERASURE)],
  ])('stays unchanged when %s is %s', async (name, _, access) => {
    const bytes = toUtf16(`\ufeff${TEXT}`);
    const path = write(bytes, name);
    await expect(async () => access(path)).rejects.toThrow(
      `${basename(path)} is in UTF-16. Save it`,
    );
    expect(readFileSync(path)).toEqual(bytes);
  });
});

it('loads .env files without overriding variables that are already set', () => {
  vi.stubEnv('FIRST', 'from the environment');
  write(Buffer.from('FIRST=a\nSECOND=b\n'), '.env.local');
  write(Buffer.from('SECOND=c\nTHIRD=d\n'), '.env');
  loadEnvFiles(folder);
  const { FIRST, SECOND, THIRD } = process.env;
  expect([FIRST, SECOND, THIRD]).toEqual(['from the environment', 'b', 'd']);
  vi.unstubAllEnvs();
});
