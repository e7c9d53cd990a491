/** The remedies that commands print. After a remedy is carried out, the same command must succeed. */

import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { command as apiKey } from '../../tools/commands/api-key.ts';
import { command as eraseEvents } from '../../tools/commands/erase-events.ts';
import { command as operations } from '../../tools/commands/operations.ts';
import { command as restore } from '../../tools/commands/restore.ts';
import { command as token } from '../../tools/commands/token.ts';
import { requireDeployable } from '../../tools/configuration/deployable.ts';
import { loadDeployment } from '../../tools/configuration/deployment.ts';
import { migrate } from '../../tools/database/migrations.ts';
import { Database } from '../support/cloudflare/database.ts';
import { runHere, runOn } from '../support/node/in-process.ts';
import { neutralConfig } from '../support/node/neutral-config.ts';

let folder: string;
const path = (name: string) => join(folder, name);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'remedies-'));
  vi.unstubAllEnvs();
});

/** Runs `token` in the folder. */
const runToken = (...args: string[]) => {
  for (const name of ['.dev.vars.example', 'wrangler.toml']) {
    writeFileSync(path(name), readFileSync(name));
  }
  return runHere({ ...token, run: (options) => token.run(options, folder) }, ...args);
};

const checkConfig = (config: string) => {
  writeFileSync(path('wrangler.toml'), config);
  requireDeployable(loadDeployment('staging', folder));
};
const config = neutralConfig(readFileSync('wrangler.toml', 'utf8')).replaceAll(
  /^PUBLIC_SITE_URL = .*$/gm,
  'PUBLIC_SITE_URL = "https://www.sa-punta.test"',
);

type Remedy = {
  /** A part of the message, which ends with the remedy. */
  message: string;
  /** Runs the command. Returns what it prints to its standard error. */
  run: () => Promise<string> | string;
  apply: () => unknown;
};

const getStderr = async (finished: Promise<{ stderr: string }>) => (await finished).stderr;
let args: string[] = [];
let database: Database;

const REMEDIES: Record<string, () => Remedy> = {
  'a value of --expires': () => {
    args = ['--expires', '1 hour'];
    const apply = () => {
      args = ['--expires', '1h'];
    };
    return { message: 'such as 1h', run: () => getStderr(runToken(...args)), apply };
  },
  'a broken .dev.key.json': () => {
    writeFileSync(path('.dev.key.json'), '{');
    const apply = () => rmSync(path('.dev.key.json'));
    return {
      message: 'Delete the file, and the next command creates a new',
      run: () => getStderr(runToken()),
      apply,
    };
  },
  "another key set's token": () => {
    writeFileSync(path('.dev.vars'), 'JWT_JWKS_URL=https://identity.test/jwks\n');
    const apply = () => writeFileSync(path('.dev.vars'), '');
    return {
      message: 'Remove its lines JWT_JWKS_URL and JWT_JWKS',
      run: () => getStderr(runToken()),
      apply,
    };
  },
  'a .dev.vars in UTF-16': () => {
    writeFileSync(path('.dev.vars'), Buffer.from('\ufeffA=b\n', 'utf16le'));
    // PowerShell writes a byte order mark.
    const apply = () => writeFileSync(path('.dev.vars'), '\ufeffA=b\n');
    return { message: 'Save it as UTF-8', run: () => getStderr(runToken()), apply };
  },
  'a malformed proxy': () => {
    vi.stubEnv('HTTPS_PROXY', '127.0.0.1:3128');
    const apply = () => vi.stubEnv('HTTPS_PROXY', 'http://127.0.0.1:3128');
    return { message: 'must begin with http://', run: () => getStderr(runToken()), apply };
  },
  'an option that npm kept': () => {
    vi.stubEnv('npm_lifecycle_event', 'token');
    vi.stubEnv('npm_config_expires', '2h');
    args = [];
    const apply = () => {
      args = ['--expires', '2h'];
    };
    const run = () => getStderr(runToken(...args));
    return { message: 'write -- before the arguments', run, apply };
  },
  'a key that has expired': () => {
    args = ['--name', 'site', '--scope', 'feed:read', '--expires', '2020-01-01'];
    const apply = () => {
      args = [...args.slice(0, -1), '2999-12-31'];
    };
    const run = async () => {
      const { code, stderr } = await runHere(apiKey, ...args);
      return code === 0 ? '' : stderr;
    };
    return { message: '--expires 2020-01-01 is in the past', run, apply };
  },
  'a database without migrations': () => {
    database = new Database('new');
    const run = () => getStderr(runOn(database.binding, operations));
    // `npm run dev` does it, as test/tools/commands/dev.test.ts shows.
    const apply = () => migrate(database.binding);
    return { message: 'Run `npm run dev` first', run, apply };
  },
  'a missing ledger': () => {
    database = new Database('store').migrate();
    args = ['--again', '--ledger', path('none.jsonl')];
    writeFileSync(path('other.jsonl'), '');
    const apply = () => {
      args = ['--again', '--ledger', path('other.jsonl')];
    };
    const run = () => getStderr(runOn(database.binding, eraseEvents, ...args));
    return { message: 'Name it with --ledger', run, apply };
  },
  'a restore without a ledger': () => {
    database = new Database('empty');
    args = ['--ledger', path('none.jsonl')];
    writeFileSync(path('file.sql'), '');
    const apply = () => {
      args = ['--no-ledger'];
    };
    const run = async () => {
      const { stderr } = await runOn(database.binding, restore, path('file.sql'), ...args);
      return stderr.includes('ledger') ? stderr : '';
    };
    return { message: 'or use --no-ledger if nothing was ever erased', run, apply };
  },
  'an aggregate in another spelling': () => {
    database = new Database('store').migrate();
    database.sqlite.exec(`INSERT INTO events
      (id, type, aggregate_type, aggregate_id, created_at, payload)
      VALUES ('e', 'a.b', 'booking', 'bk_Ána', 1, '{}')`);
    const aggregate = ['--aggregate-type', 'booking', '--ledger', path('other.jsonl')];
    let id = 'bk_ana';
    const run = () =>
      getStderr(runOn(database.binding, eraseEvents, ...aggregate, '--aggregate-id', id));
    const apply = async () => {
      const { stdout } = await runOn(database.binding, eraseEvents, '--find', id);
      id = /^booking (.*): 1 event$/m.exec(stdout)?.[1] ?? '';
    };
    return { message: '--find searches for other spellings', run, apply };
  },
  'a route that staging inherits': () => {
    let text = `route = "api.sa-punta.test/*"\n${config}`;
    const run = () => checkConfigMessage(text);
    const apply = () => {
      text = text.replace('[env.staging]', '[env.staging]\nroutes = []');
    };
    return { message: 'it inherits routes unless it has `routes = []`', run, apply };
  },
};

function checkConfigMessage(text: string): string {
  try {
    checkConfig(text);
    return '';
  } catch (error) {
    return String(error);
  }
}

it.each(Object.entries(REMEDIES))('succeeds after the remedy for %s', async (_, prepare) => {
  const { message, run, apply } = prepare();
  expect(await run()).toContain(message);
  await apply();
  expect(await run()).toBe('');
});

describe('a message', () => {
  const sources = globSync(['tools/**/*.{ts,js}', 'src/**/*.ts']).map((name) =>
    readFileSync(name, 'utf8'),
  );

  it('names sections of documents that exist', () => {
    const references = sources.flatMap((text) =>
      Array.from(text.matchAll(/"([^"\n]+)" in (docs\/[\w/-]+\.md)/g)),
    );
    expect(references.length).toBeGreaterThan(2);
    for (const [, heading, document = ''] of references) {
      expect(readFileSync(document, 'utf8')).toMatch(new RegExp(`^#+ ${heading}$`, 'm'));
    }
  });

  it('names npm scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8'));
    const names = sources.flatMap((text) =>
      Array.from(text.matchAll(/npm run (?:-s )?([a-z][\w-]*)/g), ([, name]) => name),
    );
    expect(names).toContain('types');
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(names));
  });
});
