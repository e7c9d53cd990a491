/**
 * A program that serves a bundle until it is killed, and prints a line when it is ready: see
 * killable-service.ts.
 */

import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { startRuntime } from '../../../tools/bench/runtime.ts';

const options = z.object({
  bundle: z.string(),
  vars: z.record(z.string(), z.string()),
  state: z.string(),
  port: z.int(),
});

const { bundle, vars, state, port } = options.parse(JSON.parse(process.argv[2] ?? ''));
await startRuntime(readFileSync(bundle, 'utf8'), vars, { state, port });
console.log('ready');
