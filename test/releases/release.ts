/**
 * The previous release: the code of the latest tag with the current packages, and a folder in which
 * its commands run. If there is no tag or no git, it is the working copy.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { openLocal, wrapSqlite } from '../../tools/database/local.ts';
import { migrate } from '../../tools/database/migrations.ts';

/** The module of the working copy that makes imports of packages faster. */
const OWN_NODE = pathToFileURL('tools/own-node.js');
const FILES = ['src', 'tools', 'migrations', 'package.json', 'wrangler.toml'];
const DESCRIBE = ['describe', '--tags', '--abbrev=0'];
const described = spawnSync('git', DESCRIBE, { encoding: 'utf8' });
const tag = described.status === 0 ? described.stdout.trim() : '';

export class Release {
  readonly folder = mkdtempSync(join(tmpdir(), 'release-'));
  /** Folder of the local database, KV and objects. */
  readonly state = join(this.folder, '.wrangler/state/v3');

  /** Creates the folder. Its database has the sample listings. */
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

  /** Runs a command of the release in its folder. */
  run(command: string, ...args: string[]): void {
    // The folder of the programs differs between releases.
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
