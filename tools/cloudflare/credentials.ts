/** The credentials for Cloudflare's API: a token in the environment, else the login of wrangler. */

import { spawnSync } from 'node:child_process';
import * as z from 'zod';
import {
  PROJECT_DIRECTORY,
  UserError,
  WRANGLER_ENVIRONMENT,
  wranglerCommand,
} from '../command-line/project.ts';

const answer = z.looseObject({ token: z.string().min(1) });

/** Returns a bearer token. Throws a `UserError` that says how to get one. */
export function findToken(): string {
  const { CLOUDFLARE_API_TOKEN } = process.env;
  if (CLOUDFLARE_API_TOKEN) return CLOUDFLARE_API_TOKEN;
  const { status, stdout } = spawnSync(
    process.execPath,
    wranglerCommand('auth', 'token', '--json'),
    {
      cwd: PROJECT_DIRECTORY,
      env: { ...process.env, ...WRANGLER_ENVIRONMENT, CI: 'true' },
      stdio: ['ignore', 'pipe', 'ignore'],
      encoding: 'utf8',
    },
  );
  const parsed = status === 0 ? answer.safeParse(jsonIn(stdout)) : undefined;
  if (parsed?.success) return parsed.data.token;
  throw new UserError(
    'there are no credentials for Cloudflare: set CLOUDFLARE_API_TOKEN, or run `npx wrangler login`',
  );
}

/** Wrangler may print notices before its answer. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text.slice(text.indexOf('{')));
  } catch {
    return undefined;
  }
}
