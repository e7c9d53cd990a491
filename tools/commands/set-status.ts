/** `npm run set-status -- STATUS SLUG...`: imports a patch that sets the status of listings. */

import { readArguments, runCommand } from '../command-line/command.ts';
import { declareImport, run, sharedOptions } from './import-listings.ts';

const program = declareImport('set-status')
  .description(`Set the web status of listings to listed, coming_soon, sold_out or hidden.

Changes: the status of these listings in the local database, or with --remote in the deployed one, and
the undo file in backups/.
Exit codes: 0 the status is set (or would be), 1 it is not set, or this is not known, 2 invalid arguments.
Example: npm run set-status -- hidden casa-marea --dry-run`)
  .argument('<status>')
  .argument('<slug...>');

export const command = { program, parse, run };

function parse(args: string[]) {
  const { values, positionals } = readArguments(program, args);
  const [status, slugs] = positionals;
  const properties = [...new Set(slugs)].map((slug) => ({
    // Messages about problems identify a record by its position.
    location: { kind: 'listing', position: slug } as const,
    value: { slug, status },
    mustExist: true,
  }));
  const emptyLists = { locations: [], amenities: [], removed: [], problems: [] };
  const patch = { form: 'patch', properties, ...emptyLists } as const;
  const readFile = () => patch;
  const origin = { command: 'set-status' };
  return { ...sharedOptions(values), origin, listsAll: true, readFile };
}

if (import.meta.main) await runCommand(command);
