/// <reference types="vite/types/importMeta.d.ts" />

/** The bindings that only tests have. */

declare namespace Cloudflare {
  interface Env {
    TEST_MIGRATIONS: import('cloudflare:test').D1Migration[];
    /** Two public lists. Node reads them: workerd cannot load the packages that hold them. */
    TEST_NAUGHTY_STRINGS: readonly string[];
    TEST_JSON_SUITE: readonly { name: string; input: string }[];
    /** `1` turns on the long forms of tests. */
    TEST_FULL: string;
  }
}
