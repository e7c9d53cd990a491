/** What Hono is told about this Worker: its bindings. Middleware leaves nothing on the context. */

export type AppEnv = { Bindings: Env };
