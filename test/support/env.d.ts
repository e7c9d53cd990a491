/// <reference types="vite/types/importMeta.d.ts" />

/** Declares the bindings that only tests have. */

declare namespace Cloudflare {
  interface Env {
    TEST_MIGRATIONS: import('cloudflare:test').D1Migration[];
    /** The Big List of Naughty Strings. Node loads it, because workerd cannot load its package. */
    TEST_NAUGHTY_STRINGS: readonly string[];
  }
}
