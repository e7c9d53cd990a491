/** The type of Hono's context: the bindings, and the variables that the middleware sets. */

import type { PresentedKey } from './auth/named-keys.ts';

export type AppEnv = {
  Bindings: Env;
  Variables: {
    /** The client whose requests the rate limit counts, e.g. `203.0.113.7`; absent outside /api. */
    client?: string;
    /** The API key of the request; undefined if the request has no API key. */
    key?: PresentedKey | undefined;
    /**
     * The caller's name in the log: the name of a named key, `api-key` or `bearer`; absent for an
     * unknown caller.
     */
    caller?: string;
    /** The `Origin` of a rejected CORS preflight, for the log. */
    rejectedOrigin?: string | undefined;
  };
};
