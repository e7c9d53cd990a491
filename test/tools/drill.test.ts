/**
 * The drills of the runbook, walked line by line against a stand-in of Cloudflare: nothing erased
 * comes back in staging and by Time Travel. Wrangler's lines are carried out on the stand-in.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { command as eraseEvents } from '../../tools/erase-events.ts';
import { CloudflareStandIn } from '../support/cloudflare/stand-in.ts';
import { runOn } from '../support/node/in-process.ts';
import { ProjectCopy } from '../support/node/project-copy.ts';

const NAME = 'events-and-property-feed';
const PAYLOADS = 'SELECT aggregate_id, payload FROM events ORDER BY seq';
const PERSONAL = '{"note":"personal"}';

let cloudflare: CloudflareStandIn;
let operator: ProjectCopy;

beforeEach(async () => {
  cloudflare = await new CloudflareStandIn().start();
  operator = new ProjectCopy();
  operator.environment = cloudflare.environment;
  const production = cloudflare.account.createDatabase(NAME);
  production.migrate();
  for (const guest of ['anna', 'bert', 'carl']) send(NAME, guest);
  cloudflare.account.createDatabase(`${NAME}-staging`).migrate();
});
afterEach(async () => {
  expect(cloudflare.unknown).toEqual([]);
  await operator.remove();
  await cloudflare.stop();
});

function send(name: string, guest: string): void {
  cloudflare.account
    .database(name)
    .sqlite.prepare(
      `INSERT INTO events (id, type, aggregate_type, aggregate_id, created_at, payload)
       VALUES (?, 'booking.created', 'booking', ?, 1000, '${PERSONAL}')`,
    )
    .run(`${guest}-1`, guest);
}

/** The guests whose payloads are there. */
function known(name: string): unknown[] {
  const rows = cloudflare.account.database(name).rows(PAYLOADS);
  return rows.filter(({ payload }) => payload === PERSONAL).map(({ aggregate_id }) => aggregate_id);
}

/** The commands of a section of the runbook, in their order. */
function commandsOf(heading: string): string[] {
  const text = readFileSync('docs/operate/runbook.md', 'utf8');
  const section = text.split(`\n${heading}\n`)[1]?.split(/\n#/)[0] ?? '';
  return [...section.matchAll(/`(n(?:pm run|px wrangler) [^`]+)`/g)].map(([, line = '']) => line);
}

/**
 * Runs a command of the runbook to its good end, and returns its output. Deployments are left out.
 */
async function walk(line: string): Promise<string> {
  const [runner, , ...words] = line.split(' ');
  const [script, ...args] = words.filter((word) => word !== '--');
  if (runner === 'npx') return carryOut(words);
  if (script === 'deploy') return '';
  const finished = await operator.run(`${script}.ts`, ...args);
  expect({ line, ...finished }).toMatchObject({ code: 0, stderr: '' });
  return finished.stdout;
}

/** Does the work of a line of wrangler. */
function carryOut([, ...words]: string[]): string {
  const { account } = cloudflare;
  const [verb, name = '', , value = ''] = words[0] === 'time-travel' ? words.slice(1) : words;
  if (verb === 'create') account.createDatabase(name);
  else if (verb === 'delete')
    account.databases.splice(account.databases.indexOf(account.database(name)), 1);
  else if (verb === 'info') return account.database(name).bookmark();
  else account.database(name).travelTo(value);
  return '';
}

/** Erases a guest, and notes it in the ledger of the operator. */
async function erase(guest: string): Promise<void> {
  const { binding } = cloudflare.account.database(NAME);
  const ledger = join(operator.directory, 'erasures.jsonl');
  const words = ['--aggregate-type', 'booking', '--aggregate-id', guest, '--ledger', ledger];
  expect(await runOn(binding, eraseEvents, ...words)).toMatchObject({ code: 0, stderr: '' });
}

describe('an event that was erased since the backup stays erased', () => {
  it('in the drill in staging, and a later erasure reaches staging too', async () => {
    const lines = commandsOf('## Backup and restore');
    expect(lines).toHaveLength(4);
    await walk('npm run backup -- --remote --out backups/FILE.sql');
    await erase('anna');
    for (const line of lines) {
      await walk(
        line.replace(NAME, `${NAME}-staging`).replace('--remote', '--remote --env staging'),
      );
    }
    expect(known(`${NAME}-staging`)).toEqual(['bert', 'carl']);
    await erase('bert');
    await walk('npm run erase-events -- --again --remote --env staging');
    expect(known(`${NAME}-staging`)).toEqual(['carl']);
    expect(known(NAME)).toEqual(['carl']);
  });

  it('after Time Travel, which begins a new generation', async () => {
    const lines = commandsOf('## Restore from Time Travel');
    expect(lines).toHaveLength(5);
    const [info = '', , restore = '', , after = ''] = lines;
    const bookmark = await walk(info);
    await erase('anna');
    send(NAME, 'undone');
    const identity = () =>
      cloudflare.account.database(NAME).rows('SELECT * FROM database_identity')[0];
    const before = identity();
    await walk(restore.replace('BOOKMARK', bookmark));
    expect(known(NAME)).toEqual(['anna', 'bert', 'carl']);
    expect(await walk(after)).toContain('Erased again: 1 event.');
    expect(known(NAME)).toEqual(['bert', 'carl']);
    expect(identity()?.lineage).toBe(before?.lineage);
    expect(identity()?.generation).not.toBe(before?.generation);
  });
});
