/**
 * Runs the commands of the previous release in a temporary folder. The release is the code of the
 * latest git tag with the current packages. Without a tag or git, it is the working copy.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openLocal, wrapSqlite } from '../../tools/database/local.ts';
import { migrate } from '../../tools/database/migrations.ts';

/** The working copy's module that makes package imports faster. */
const OWN_NODE = pathToFileURL('tools/own-node.js');
const FILES = ['src', 'tools', 'migrations', 'package.json', 'wrangler.toml'];
const DESCRIBE = ['describe', '--tags', '--abbrev=0'];
const described = spawnSync('git', DESCRIBE, { encoding: 'utf8' });
const tag = described.status === 0 ? described.stdout.trim() : '';

export class Release {
  readonly folder = mkdtempSync(join(tmpdir(), 'release-'));
  /** Folder of the local database, KV namespace and Durable Objects. */
  readonly state = join(this.folder, '.wrangler/state/v3');

  /** Creates the folder and a database with the sample listings. */
  constructor() {
    if (tag === '') {
      for (const name of FILES) cpSync(name, join(this.folder, name), { recursive: true });
    } else {
      const input = execFileSync('git', ['archive', tag, ...FILES], { maxBuffer: 100_000_000 });
      execFileSync('tar', ['-x', '-C', this.folder], { input });
    }
    symlinkSync(resolve('node_modules'), join(this.folder, 'node_modules'));
    this.run('import-listings', 'tools/samples/listings.json', '--no-undo');
  }

  run(command: string, ...args: string[]): void {
    // Releases can store their programs in different folders.
    const { scripts } = JSON.parse(readFileSync(join(this.folder, 'package.json'), 'utf8'));
    const [path] = /tools\/[\w/-]+\.ts$/.exec(scripts[command]) ?? [''];
    const program = [`--import=${OWN_NODE}`, path, ...args];
    execFileSync(process.execPath, program, { cwd: this.folder, stdio: 'pipe' });
  }

  open() {
    return openLocal(join(this.state, 'd1/miniflare-D1DatabaseObject'));
  }

  async applyCurrentMigrations(): Promise<void> {
    using sqlite = this.open();
    await migrate(wrapSqlite(sqlite));
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}
