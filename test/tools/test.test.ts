/** `npm test -- FILE...`, with a program in place of Vitest. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { expect, it } from 'vitest';

/** Prints its temporary folder and its arguments, and fails as Vitest does if a test has failed. */
const VITEST = `#!/bin/sh
printf '%s\\n' "$TMPDIR" "$@"
echo 'expected 1 to be 2' >&2
exit "$CODE"
`;

it.each([0, 1])(
  'runs the files and folders of the current folder, shows errors if one fails, and ends with %i',
  (code) => {
    const folder = mkdtempSync(join(tmpdir(), 'vitest-'));
    writeFileSync(join(folder, 'vitest'), VITEST, { mode: 0o700 });
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['tools/test.ts', 'development/port.test.ts', '../health'],
      {
        encoding: 'utf8',
        env: {
          ...process.env,
          ...{ PATH: `${folder}${delimiter}${process.env.PATH}`, CODE: String(code) },
          ...{ npm_lifecycle_event: 'test', INIT_CWD: join(process.cwd(), 'test/tools') },
        },
      },
    );
    const [scratch = '', ...args] = stdout.trimEnd().split('\n');
    expect(args.slice(-2)).toEqual(['test/tools/development/port.test.ts', 'test/health']);
    expect({ status, stderr }).toEqual({
      status: code,
      stderr: code === 0 ? '' : 'expected 1 to be 2\n\n',
    });
    expect(existsSync(scratch)).toBe(false);
  },
);
