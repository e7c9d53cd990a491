/**
 * Makes test/releases/VERSION: what a user of a release has in hand. Run it once per release, on a
 * clean checkout of its commit, which has its node_modules:
 *
 *     node tools/release/make-fixtures.ts [CHECKOUT]
 *
 * It uses the commands of the release. What its Worker writes, the tests take from its Worker.
 */

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { openLocal } from '../database/local.ts';

const checkout = resolve(process.argv[2] ?? '.');
const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'));
const out = resolve('test/releases', version);
const project = mkdtempSync(join(tmpdir(), 'release-'));

/** Eight events: one of `bk_erased`. */
const EVENTS = `
  INSERT INTO events (id, type, aggregate_type, aggregate_id, created_at, payload)
  SELECT 'e-' || value, 'booking.created', 'booking', iif(value = 8, 'bk_erased', 'bk_1002'), 1, '{"guests":1}'
  FROM json_each('[1,2,3,4,5,6,7,8]')`;

try {
  mkdirSync(out, { recursive: true });
  const isTracked = (path: string) => !/\/(\.git|\.wrangler|backups|\.dev\..*)$/.test(path);
  cpSync(checkout, project, { recursive: true, filter: isTracked, verbatimSymlinks: true });
  const archive = ['archive', '--format=tar', 'HEAD', 'src', 'tools', 'package.json'];
  save('project.tar', execFileSync('git', archive, { cwd: checkout, maxBuffer: 100_000_000 }));
  const wrangler = join(project, 'node_modules/wrangler/bin/wrangler.js');
  run(wrangler, 'deploy', 'src/index.ts', '--dry-run', '--outdir', 'bundle', '--env=');
  save('worker.js', readFileSync(join(project, 'bundle/index.js')));

  run('tools/import-listings.ts', 'tools/samples/listings.json', '--no-undo');
  const undo = writePatch();
  run('tools/import-listings.ts', 'patch.json', '--patch', '--undo', 'undo.json');
  using sqlite = openLocal(join(project, '.wrangler/state/v3/d1/miniflare-D1DatabaseObject'));
  sqlite.exec(EVENTS);
  const erased = ['--aggregate-type', 'booking', '--aggregate-id', 'bk_erased'];
  run('tools/erase-events.ts', ...erased, '--ledger', 'erasures.jsonl');
  run('tools/backup.ts', '--out', 'backup.sql');
  run('tools/export-listings.ts', '--out', 'listings.json');
  for (const name of ['backup.sql', 'listings.json', 'undo.json']) {
    save(name, readFileSync(join(project, name)));
  }
  cpSync(join(project, 'erasures.jsonl'), join(out, 'erasures.jsonl'));
  const key = run('tools/api-key.ts', '--name', 'site', '--scope', 'feed:read,events:read');
  writeFileSync(join(out, 'fixtures.json'), `${JSON.stringify({ key, undo }, null, 2)}\n`);
} finally {
  rmSync(project, { recursive: true });
}

/** Compressed by Brotli, as `NAME.br`. */
function save(name: string, content: Buffer): void {
  writeFileSync(join(out, `${name}.br`), brotliCompressSync(content));
}

/** Runs a program of the release in its copy. Returns what it prints. */
function run(...args: string[]): string {
  return execFileSync(process.execPath, args, { cwd: project, encoding: 'utf8' });
}

/** Writes a patch that renames a listing. */
function writePatch() {
  const [{ slug, name }] = JSON.parse(
    readFileSync(join(project, 'tools/samples/listings.json'), 'utf8'),
  ).properties;
  const after = 'A changed name';
  const patch = { properties: [{ slug, name: after }] };
  writeFileSync(join(project, 'patch.json'), JSON.stringify(patch));
  return { slug, before: name, after };
}
