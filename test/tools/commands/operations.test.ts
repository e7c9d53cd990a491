/** Tests of `npm run operations` and of the operations that commands record. */

import { existsSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { command as afterTimeTravel } from '../../../tools/commands/after-time-travel.ts';
import { command as eraseEvents } from '../../../tools/commands/erase-events.ts';
import { command } from '../../../tools/commands/operations.ts';
import { command as restore } from '../../../tools/commands/restore.ts';
import { hasGit, letGitRefuse } from '../../support/node/git.ts';
import { runOn } from '../../support/node/in-process.ts';
import { BAY, makeFile, makeProperty } from '../../support/node/listings-file.ts';
import { openMemoryImports } from '../../support/node/memory-imports.ts';

const imports = openMemoryImports();
const print = (...args: string[]) => runOn(imports.database, command, ...args);
const readOperations = () => imports.rows('SELECT * FROM operations ORDER BY rowid');
/** Matches the recorded commit, which is null in an unpacked archive. */
const COMMIT =
  hasGit && existsSync('.git') ? expect.stringMatching(/^[0-9a-f]{12}(-dirty)?$/) : null;
const home = makeProperty({ slug: 'casa-marea', location_id: BAY });

beforeEach(() => {
  vi.stubEnv('GITHUB_ACTOR', 'ana');
  imports.clear();
});
afterEach(() => vi.unstubAllEnvs());

describe('operation', () => {
  it('contains its author, commit, command, file and counts', async () => {
    const before = Date.now();
    await imports.load(makeFile([home, makeProperty({ slug: 'other' })]));
    await imports.setStatus('hidden', 'casa-marea');
    const [first, second, ...others] = readOperations();
    const common = { who: 'ana', commit: COMMIT };
    expect(others).toEqual([]);
    expect(first).toEqual({
      ...common,
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      at: expect.any(Number),
      command: 'import-listings',
      file: 'listings.json',
      counts: '{"added":2,"locations":1,"amenities":1}',
      export_id: null,
    });
    expect(Number(first?.at)).toBeGreaterThanOrEqual(before);
    expect(second).toMatchObject({
      ...common,
      command: 'set-status',
      file: null,
      counts: '{"changed":1}',
    });
  });

  it('is not recorded if git fails', async ({ skip }) => {
    skip(COMMIT === null, 'a git repository');
    await imports.load(makeFile([home]));
    const read = () =>
      ['properties', 'operations', 'database_identity'].map((table) =>
        imports.rows(`SELECT * FROM ${table}`),
      );
    const before = read();
    letGitRefuse();
    for (const run of [
      () => imports.load(makeFile([home, makeProperty({ slug: 'other' })])),
      () => imports.setStatus('hidden', 'casa-marea'),
      () => runOn(imports.database, eraseEvents, '--aggregate-type', 'a', '--aggregate-id', 'b'),
      () => runOn(imports.database, afterTimeTravel, '--no-ledger'),
      () => runOn(imports.database, restore, 'backup.sql', '--no-ledger'),
    ]) {
      const { code, stderr } = await run();
      expect([code, stderr]).toEqual([1, expect.stringContaining('fatal: detected dubious owner')]);
    }
    expect(read()).toEqual(before);
  });

  it('is not recorded if an import changes nothing', async () => {
    await imports.load(makeFile([home]));
    await imports.load(makeFile([home]));
    expect(readOperations()).toHaveLength(1);
  });

  it('is not recorded by a dry run', async () => {
    await imports.load(makeFile([home]), '--dry-run');
    expect(readOperations()).toEqual([]);
  });

  it('is stored in each listing whose record it was the last to change', async () => {
    const other = makeProperty({ slug: 'other' });
    await imports.load(makeFile([home, other]));
    await imports.setStatus('hidden', 'other');
    await imports.load(makeFile([], { bay: 'Blue bay' }));
    const ids = readOperations().map(({ id }) => id);
    expect(imports.rows('SELECT slug, operation FROM properties ORDER BY slug')).toEqual([
      { slug: 'casa-marea', operation: ids[0] },
      { slug: 'other', operation: ids[1] },
    ]);
  });
});

describe('npm run operations', () => {
  beforeEach(async () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 10, 27, 9), toFake: ['Date'] });
    await imports.load(makeFile([home]));
    vi.setSystemTime(Date.UTC(2026, 10, 27, 10, 2));
    vi.stubEnv('GITHUB_ACTOR', 'bo');
    await imports.load({ properties: [makeProperty({ slug: 'other' })] });
    vi.useRealTimers();
  });

  const formatLines = () => {
    const [older, newer] = readOperations();
    return [
      `2026-11-27 10:02 UTC by bo, import-listings listings.json: added 1 (${newer?.commit ?? 'no commit'}, ${newer?.id})\n`,
      `2026-11-27 09:00 UTC by ana, import-listings listings.json: added 1, locations 1, amenities 1 (${older?.commit ?? 'no commit'}, ${older?.id})\n`,
    ];
  };

  it('prints the newest operation first', async () => {
    expect(await print()).toEqual({ code: 0, stdout: formatLines().join(''), stderr: '' });
  });

  it('prints only the last operation that changed a listing with --listing', async () => {
    const expected = { code: 0, stdout: formatLines()[1] };
    expect(await print('--listing', 'casa-marea')).toMatchObject(expected);
  });

  it('prints a message if no operation has changed the listing', async () => {
    const expected = { code: 0, stdout: 'No operation is recorded.\n', stderr: '' };
    expect(await print('--listing', 'casa-mare')).toEqual(expected);
  });
});
