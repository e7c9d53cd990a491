/** The types of Hono's context in this service: the bindings, and the variables that middleware sets. */

import type { PresentedKey } from './auth/named-keys.ts';

export type AppEnv = {
  Bindings: Env;
  Variables: {
    /** The client whose requests the rate limit counts, e.g. `203.0.113.7`; absent outside /api. */
    client?: string;
    /** The API key of the request; undefined if the request has no API key. */
    key?: PresentedKey | undefined;
    /** The caller in the log: the name of a named key, `api-key` or `bearer`; absent for unknown callers. */
    caller?: string;
    /** The `Origin` of a preflight that CORS does not allow, for the log. */
    rejectedOrigin?: string | undefined;
  };
};
