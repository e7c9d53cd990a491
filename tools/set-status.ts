/** `npm run set-status -- STATUS SLUG...`: see its usage in import/command.ts. */

import { runCommand } from './command-line/command.ts';
import { statusCommand as command } from './import/command.ts';

export { command };

if (import.meta.main) await runCommand(command, () => process.exit(1));
