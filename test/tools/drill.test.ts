/**
 * The drills of the runbook, walked line by line: nothing erased comes back in staging and by Time
 * Travel.
 */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Database } from '../support/cloudflare/database.ts';
import { runOn } from '../support/node/in-process.ts';

const NAME = 'events-and-property-feed';
const STAGING = `${NAME}-staging`;
const PERSONAL = '{"note":"personal"}';

let databases: Map<string, Database>;
/** The state at the bookmark that was asked for. */
let bookmarked = new Uint8Array();
let folder: string;

beforeEach(() => {
  databases = new Map([NAME, STAGING].map((name) => [name, new Database(name).migrate()]));
  folder = mkdtempSync(join(tmpdir(), 'drill-'));
  for (const guest of ['anna', 'bert', 'carl']) send(guest);
});
afterEach(() => rmSync(folder, { recursive: true }));

function databaseOf(name: string): Database {
  const found = databases.get(name);
  if (found === undefined) throw new Error(`there is no database ${name}`);
  return found;
}

function send(guest: string): void {
  databaseOf(NAME).sqlite.exec(
    `INSERT INTO events (id, type, aggregate_type, aggregate_id, created_at, payload)
     VALUES ('${guest}-1', 'booking.created', 'booking', '${guest}', 1000, '${PERSONAL}')`,
  );
}

/** The guests whose payloads are there. */
function known(name: string): unknown[] {
  const guests = `SELECT aggregate_id FROM events WHERE payload = '${PERSONAL}' ORDER BY seq`;
  return databaseOf(name)
    .rows(guests)
    .map(({ aggregate_id }) => aggregate_id);
}

/** The commands of a section of the runbook, in their order. */
function commandsOf(heading: string): string[] {
  const text = readFileSync('docs/operate/runbook.md', 'utf8');
  const section = text.split(`\n${heading}\n`)[1]?.split(/\n#/)[0] ?? '';
  return [...section.matchAll(/`(n(?:pm run|px wrangler) [^`]+)`/g)].map(([, line = '']) => line);
}

/** Runs a command of the runbook to its good end, and returns its output. */
async function walk(line: string): Promise<string> {
  const [runner, , ...words] = line.split(' ');
  const [script = '', ...args] = words.filter((word) => word !== '--');
  if (runner === 'npx') return carryOut(words);
  if (script === 'deploy') return '';
  const { command } = await import(`../../tools/${script}.ts`);
  const { binding } = databaseOf(args.includes('staging') ? STAGING : NAME);
  const inFolder = args.map((arg) => arg.replace(/^backups\//, `${folder}/`));
  const ledger = script === 'backup' ? [] : ['--ledger', join(folder, 'erasures.jsonl')];
  const finished = await runOn(binding, command, ...inFolder, ...ledger);
  expect({ line, ...finished }).toMatchObject({ code: 0, stderr: '' });
  return finished.stdout;
}

/** Does the work of a line of wrangler. */
function carryOut([, ...words]: string[]): string {
  const [verb, name = ''] = words[0] === 'time-travel' ? words.slice(1) : words;
  if (verb === 'create') databases.set(name, new Database(name));
  else if (verb === 'delete') databases.delete(name);
  else if (verb === 'info') bookmarked = databaseOf(name).sqlite.serialize();
  else databaseOf(name).sqlite.deserialize(bookmarked);
  return '';
}

const erase = (guest: string) =>
  walk(`npm run erase-events -- --aggregate-type booking --aggregate-id ${guest}`);

describe('an event that was erased since the backup stays erased', () => {
  it('in the drill in staging, and a later erasure reaches staging too', async () => {
    const lines = commandsOf('## Backup and restore');
    expect(lines).toHaveLength(4);
    await walk('npm run backup -- --remote --out backups/FILE.sql');
    await erase('anna');
    for (const line of lines) {
      await walk(line.replace(NAME, STAGING).replace('--remote', '--remote --env staging'));
    }
    expect(known(STAGING)).toEqual(['bert', 'carl']);
    await erase('bert');
    await walk('npm run erase-events -- --again --remote --env staging');
    expect(known(STAGING)).toEqual(['carl']);
    expect(known(NAME)).toEqual(['carl']);
  });

  it('after Time Travel, which begins a new generation', async () => {
    const lines = commandsOf('## Restore from Time Travel');
    expect(lines).toHaveLength(5);
    const [info = '', , restore = '', , after = ''] = lines;
    await walk(info);
    await erase('anna');
    send('undone');
    const identity = () => databaseOf(NAME).rows('SELECT * FROM database_identity')[0];
    const before = identity();
    await walk(restore);
    expect(known(NAME)).toEqual(['anna', 'bert', 'carl']);
    expect(await walk(after)).toContain('Erased again: 1 event.');
    expect(known(NAME)).toEqual(['bert', 'carl']);
    expect(identity()?.lineage).toBe(before?.lineage);
    expect(identity()?.generation).not.toBe(before?.generation);
  });
});

it('old payloads are emptied by the statement for a full database, and the keys stay', () => {
  const [, statement = ''] =
    /--command "(UPDATE [^"]+)"/.exec(readFileSync('docs/operate/growing.md', 'utf8')) ?? [];
  const { sqlite } = databaseOf(NAME);
  sqlite.exec("UPDATE events SET created_at = 1800000000000 WHERE aggregate_id = 'carl'");
  const keys = () => databaseOf(NAME).rows('SELECT seq, id, key_id, fingerprint FROM events');
  const before = keys();
  sqlite.exec(statement);
  expect(known(NAME)).toEqual(['carl']);
  expect(keys()).toEqual(before);
  expect(sqlite.prepare(statement).run().changes).toBe(0);
});
