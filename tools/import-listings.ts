/** `npm run import-listings -- FILE`: loads a listings file. Its usage is in import/command.ts. */

import { runCommand } from './command-line/command.ts';
import { importCommand as command } from './import/command.ts';

export { command };

if (import.meta.main) await runCommand(command, () => process.exit(1));
