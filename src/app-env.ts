/** The types of Hono's context in this service: the bindings, and the variables that middleware sets. */

import type { PresentedKey } from './auth/named-keys.ts';

export type AppEnv = {
  Bindings: Env;
  Variables: {
    client?: string;
    key?: PresentedKey | undefined;
    /** The recognized caller, as in the log: the name of the key, `api-key` or `bearer`. */
    caller?: string;
    rejectedOrigin?: string | undefined;
  };
};
