/** What Hono knows about this Worker: its bindings and what the middleware leaves on a request. */

export type AppEnv = { Bindings: Env };
