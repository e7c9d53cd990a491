/// <reference types="vite/types/importMeta.d.ts" />

/** Bindings that only tests have. */

declare namespace Cloudflare {
  interface Env {
    TEST_MIGRATIONS: import('cloudflare:test').D1Migration[];
  }
}
