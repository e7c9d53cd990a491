/** Runs `npm run bench` in this process. The measured rates are not tested. */

import { expect, it } from 'vitest';
import { command } from '../../../tools/commands/bench.ts';
import { runHere } from '../../support/node/in-process.ts';

it('prints three rates for each kind of request', async () => {
  const { code, stdout, stderr } = await runHere(command, '--quick');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const [head, ...rows] = stdout.trim().split('\n');
  expect(head).toBe('| requests per second | small | large | least |');
  expect(rows).toHaveLength(8);
  for (const row of rows) expect(row).toMatch(/^\| [a-z0-9, ]+( \| [1-9]\d*){3} \|$/);
});
