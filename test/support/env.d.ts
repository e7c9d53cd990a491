/// <reference types="vite/types/importMeta.d.ts" />

/** The bindings that only tests have. */

declare namespace Cloudflare {
  interface Env {
    TEST_MIGRATIONS: import('cloudflare:test').D1Migration[];
    /** A public list, which Node reads because workerd cannot load its package. */
    TEST_NAUGHTY_STRINGS: readonly string[];
  }
}
