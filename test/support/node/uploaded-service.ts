/** The bundle that was uploaded to the stand-in of Cloudflare, run in workerd on a copy of its database. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Runtime, startRuntime } from '../../../tools/bench/runtime.ts';
import { dump } from '../../../tools/database/dump.ts';
import { loadDump, scratchDatabase } from '../../../tools/database/dump-file.ts';
import { restore } from '../../../tools/database/restore.ts';
import type { Database } from '../cloudflare/database.ts';
import type { Worker } from '../cloudflare/worker.ts';

/** Starts the version that is served, with its vars, its secrets and a copy of the database. */
export async function startUploaded(worker: Worker, database: Database): Promise<Runtime> {
  const { id, tag, bindings, secrets, files } = worker.current;
  const vars = bindings.flatMap(({ type, name, text }) =>
    type === 'plain_text' ? [[name, String(text)]] : [],
  );
  const runtime = await startRuntime(files.get('index.js') ?? '', {
    ...Object.fromEntries(vars),
    ...secrets,
    CF_VERSION_METADATA: { id, tag, timestamp: '2026-11-01T00:00:00Z' },
  });
  await copy(database, runtime);
  return runtime;
}

async function copy({ sqlite, name }: Database, { database }: Runtime): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'uploaded-'));
  try {
    const file = join(folder, 'dump.sql');
    await dump(scratchDatabase(sqlite), name, file);
    const loaded = await loadDump(file, folder);
    await restore(database, loaded, []);
    loaded.scratch.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
}
