/** Tells Hono about this Worker's bindings. Middleware leaves nothing on the context. */

export type AppEnv = { Bindings: Env };
