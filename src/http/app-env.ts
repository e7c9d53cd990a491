/** Tells Hono about this Worker's bindings, and what middleware leaves on the context. */

export type AppEnv = {
  Bindings: Env;
  Variables: {
    /** The caller, once a credential has been recognized: the key's name, `api-key` or `bearer`. */
    caller?: string;
  };
};
