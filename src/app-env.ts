/** What Hono's context has in this service: the bindings, and what a middleware finds out of a request. */

import type { PresentedKey } from './auth/named-keys.ts';

export type AppEnv = {
  Bindings: Env;
  Variables: {
    client?: string;
    key?: PresentedKey | undefined;
    /** The recognized caller, also in the log: the key's name, `api-key` or `bearer`. */
    caller?: string;
    rejectedOrigin?: string | undefined;
  };
};
