import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin';
import naughtyStrings from 'big-list-of-naughty-strings/blns.json' with { type: 'json' };
import { defineConfig } from 'vitest/config';
import { WRANGLER_ENVIRONMENT } from '../../tools/cloudflare/wrangler.ts';
import { resolveEnvironment } from '../../tools/command-line/environment.ts';
import { describeError } from '../../tools/command-line/user-error.ts';
import { TEST_VARS } from '../support/vars.ts';
import LongFilesFirst from './long-files-first.ts';

/**
 * Patterns for tests that run in Node: all tests of the tools, and tests with `.node` in their file
 * name.
 */
const NODE_TESTS = ['test/tools/{,**/}*.test.ts', 'test/{,**/}*.node.test.ts'];

/**
 * The two test projects share these workers. With one more worker on two processors, a run took 6 %
 * less time but 12 % more processor time, because every worker imports the code again.
 */
const MAX_WORKERS = availableParallelism();

try {
  resolveEnvironment();
} catch (error) {
  console.error(describeError(error));
  process.exit(1);
}
// The tests use the configuration that all environments share.
delete process.env.CLOUDFLARE_ENV;
// Tests call only servers on localhost, and curl and Python would use a proxy.
for (const name of ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY']) {
  delete process.env[name];
}
Object.assign(process.env, WRANGLER_ENVIRONMENT, {
  WRANGLER_WRITE_LOGS: 'false',
  // Otherwise Vitest stores a token in the user's home directory.
  XDG_DATA_HOME: resolve('.wrangler/own'),
  // Otherwise git rejects a checkout that belongs to another user, which is common in containers.
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.directory',
  GIT_CONFIG_VALUE_0: '*',
});

// project   runs in   tests
// worker    workerd   the service with real bindings
// node      Node      programs, documents, and the service over real HTTP
export default defineConfig({
  test: {
    // Shows the service's log only if a test fails.
    silent: 'passed-only',
    globalSetup: ['./test/vitest/run-directory.ts', './test/vitest/shared-browser.ts'],
    reporters: ['default', './test/vitest/closing-line.ts'],
    // Otherwise Vitest also lists slow tests that pass.
    slowTestThreshold: Number.POSITIVE_INFINITY,
    maxWorkers: MAX_WORKERS,
    sequence: { sequencer: LongFilesFirst },
    projects: [
      {
        plugins: [
          cloudflareTest(async () => ({
            wrangler: { configPath: './wrangler.toml' },
            miniflare: {
              bindings: {
                TEST_MIGRATIONS: await readD1Migrations('./migrations'),
                // The test vars replace the values in .dev.vars and wrangler.toml.
                ...TEST_VARS,
                TEST_NAUGHTY_STRINGS: naughtyStrings,
                API_KEY: 'test-key-number-one,test-key-number-two',
                API_KEYS: [],
                FEED_CACHE_SECONDS: '0',
              },
            },
          })),
        ],
        test: {
          name: 'worker',
          // Otherwise imported style sheets are empty.
          css: true,
          include: ['test/{,**/}*.test.ts'],
          exclude: NODE_TESTS,
          // All files of a worker share one runtime. worker-setup.ts isolates them from each other.
          isolate: false,
          setupFiles: ['./test/vitest/watch-log.ts', './test/vitest/worker-setup.ts'],
          // A test with a hundred requests can take more than five seconds on a busy computer.
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'node',
          include: NODE_TESTS,
          // All files of a worker share its modules. node-setup.ts isolates them from each other.
          isolate: false,
          // As for the commands, this makes importing drizzle-orm ten times as fast.
          execArgv: ['--import', './tools/own-node.js'],
          setupFiles: ['./test/vitest/node-setup.ts'],
          // A program can take a minute on a busy computer.
          expect: { poll: { timeout: 100_000 } },
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
