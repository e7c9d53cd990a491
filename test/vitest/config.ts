import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { cloudflareTest, readD1Migrations } from '@cloudflare/vitest-plugin';
import naughtyStrings from 'big-list-of-naughty-strings/blns.json' with { type: 'json' };
import { defineConfig } from 'vitest/config';
import { WRANGLER_ENVIRONMENT } from '../../tools/cloudflare/wrangler.ts';
import { resolveEnvironment } from '../../tools/command-line/environment.ts';
import { messageOf } from '../../tools/command-line/user-error.ts';
import { TEST_VARS } from '../support/vars.ts';
import LongFilesFirst from './long-files-first.ts';

/**
 * Tests that run in Node: those of the tools, and those that say so in their name. The others run
 * in workerd.
 */
const NODE_TESTS = ['test/tools/**/*.test.ts', 'test/**/*.node.test.ts'];

/**
 * One more than there are processors: many tests wait for a program or a time limit, and with more
 * of them a run takes longer. Vitest itself would leave a processor free. The projects share these
 * workers.
 */
const MAX_WORKERS = availableParallelism() + 1;

try {
  resolveEnvironment();
} catch (error) {
  console.error(messageOf(error));
  process.exit(1);
}
// The tests are those of the configuration that every environment shares.
delete process.env.CLOUDFLARE_ENV;
// Tests call servers of this machine alone, also by curl and Python.
for (const name of ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY']) {
  delete process.env[name];
}
Object.assign(process.env, WRANGLER_ENVIRONMENT, {
  WRANGLER_WRITE_LOGS: 'false',
  // Vitest would keep a token in the user's home.
  XDG_DATA_HOME: resolve('.wrangler/own'),
  // In a checkout of another owner, as in a container, git would refuse.
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.directory',
  GIT_CONFIG_VALUE_0: '*',
});

/**
 * `worker`: in workerd, with real bindings. `node`: programs, documents, and the service over real
 * HTTP.
 */
export default defineConfig({
  test: {
    // Shows what the service logs for the tests that fail.
    silent: 'passed-only',
    globalSetup: ['./test/vitest/run-directory.ts', './test/vitest/shared-browser.ts'],
    reporters: ['default', './test/vitest/closing-line.ts'],
    // Else the passing tests that take long are named.
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
                // A developer's .dev.vars and an operator's wrangler.toml are read too: these win.
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
          // Else the text of a style sheet is empty.
          css: true,
          include: ['test/**/*.test.ts'],
          exclude: NODE_TESTS,
          // A worker's files share its runtime: worker-setup.ts keeps them apart.
          isolate: false,
          setupFiles: ['./test/vitest/watch-log.ts', './test/vitest/worker-setup.ts'],
          // A test of a hundred requests takes more than the usual five seconds on a busy machine.
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'node',
          include: NODE_TESTS,
          // A worker's files share its modules: node-setup.ts keeps them apart.
          isolate: false,
          // As for the commands: drizzle-orm is imported in a tenth of the time.
          execArgv: ['--import', './tools/own-node.js'],
          setupFiles: ['./test/vitest/node-setup.ts'],
          // A program may need a minute on a busy machine.
          expect: { poll: { timeout: 100_000 } },
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
    ],
  },
});
