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

/** Tests that run in Node: all tests of the tools, and tests with `.node` in their name. */
const NODE_TESTS = ['test/tools/**/*.test.ts', 'test/**/*.node.test.ts'];

/**
 * One worker more than processors, because many tests wait for a program or a time limit. With more
 * workers a run takes longer. Both projects share the workers.
 */
const MAX_WORKERS = availableParallelism() + 1;

try {
  resolveEnvironment();
} catch (error) {
  console.error(describeError(error));
  process.exit(1);
}
// The tests use the configuration that all environments share.
delete process.env.CLOUDFLARE_ENV;
// Tests only call servers on localhost, also with curl and Python.
for (const name of ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY']) {
  delete process.env[name];
}
Object.assign(process.env, WRANGLER_ENVIRONMENT, {
  WRANGLER_WRITE_LOGS: 'false',
  // Vitest would keep a token in the user's home.
  XDG_DATA_HOME: resolve('.wrangler/own'),
  // Otherwise git rejects a checkout that belongs to another user, as in a container.
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.directory',
  GIT_CONFIG_VALUE_0: '*',
});

/**
 *     project   runs in   tests
 *     worker    workerd   the service with real bindings
 *     node      Node      programs, documents, and the service over real HTTP
 */
export default defineConfig({
  test: {
    // Shows the log of the service only for failed tests.
    silent: 'passed-only',
    globalSetup: ['./test/vitest/run-directory.ts', './test/vitest/shared-browser.ts'],
    reporters: ['default', './test/vitest/closing-line.ts'],
    // Otherwise slow tests are listed although they pass.
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
                // These replace the values in .dev.vars and wrangler.toml.
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
          // Otherwise the text of a style sheet is empty.
          css: true,
          include: ['test/**/*.test.ts'],
          exclude: NODE_TESTS,
          // The files of a worker share its runtime. worker-setup.ts keeps them apart.
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
          // The files of a worker share its modules. node-setup.ts keeps them apart.
          isolate: false,
          // Imports drizzle-orm in a tenth of the time, as for the commands.
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
