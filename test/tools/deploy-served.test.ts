/** The version that `npm run deploy` replaces, and the health of the one that serves afterwards. */

import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import {
  CONFIG,
  cloudflare,
  configure,
  deploy,
  directory,
  expectDeployed,
  NAME,
  STAGING,
  useDeployer,
  WITH_DOMAIN,
} from '../support/cloudflare/deployer.ts';

useDeployer();

it('reports a degraded version as served, and one that is down or does not respond as a failure', async () => {
  cloudflare.health.rate_limiter = 'down';
  expect(await expectDeployed()).toContain(', degraded: rate_limiter is down\n');
  cloudflare.health.database = 'down';
  const down = await deploy();
  expect(down.code).toBe(1);
  expect(down.stderr).toMatch(
    /failed at the health check: version \S+ is deployed, and \S+\/api\/health\/detailed says that it is down: database, rate_limiter\.\n/,
  );
});

it('requests the health at the custom domain or at workers.dev, if there is either', async () => {
  vi.stubEnv('SERVICE_ORIGIN', '');
  const { fetch } = globalThis;
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    if (url.startsWith(cloudflare.origin)) return fetch(url, init);
    throw new Error('offline');
  });
  const unreachable = (origin: string) =>
    expect.stringContaining(
      `is deployed, and ${origin}/api/health/detailed gets its responses from nothing that is usable (offline). Request it again in some minutes`,
    );
  cloudflare.domains.push({ hostname: 'api.sa-punta.test', service: STAGING });
  configure(`route = "www.sa-punta.test/*"\n${WITH_DOMAIN}`);
  expect((await deploy('--env', 'staging')).stderr).toEqual(
    unreachable('https://api.sa-punta.test'),
  );
  configure(CONFIG);
  expect((await deploy()).stderr).toEqual(unreachable('https://feed.example.workers.dev'));
  configure(`workers_dev = false\n${CONFIG}`);
  expect(await expectDeployed()).toContain('without an address yet: add a route, or set workers');
  vi.unstubAllGlobals();
});

it.each([
  [
    { 'cf-mitigated': 'challenge' },
    '<title>Just a moment...</title>',
    'cf-mitigated: challenge',
    'Bot Fight Mode',
  ],
  [{}, 'error code: 1010', 'error code: 1010', 'Browser Integrity Check'],
])(
  'names the setting of the zone that turns the health check away: %j',
  async (headers, body, fact, setting) => {
    const { fetch } = globalThis;
    vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
      if (!url.endsWith('/api/health/detailed')) return fetch(url, init);
      return new Response(body, {
        status: 403,
        headers: { 'Content-Type': 'text/html', ...headers },
      });
    });
    const { code, stderr } = await deploy();
    vi.unstubAllGlobals();
    expect(code).toBe(1);
    expect(stderr).toContain(
      `gets its responses from something else (HTTP 403, text/html, ${fact}). The zone turns programs away: switch ${setting} off, see "The zone" in docs/operate/runbook.md.\n`,
    );
  },
);

describe('in a repository', () => {
  const git = (...args: string[]) => {
    const identity = ['-c', 'user.name=Anna', '-c', 'user.email=anna@example.com'];
    return execFileSync('git', [...identity, ...args], { cwd: directory, encoding: 'utf8' });
  };
  const commit = (subject: string) => git('commit', '-q', '--allow-empty', '-m', subject);
  beforeEach(() => {
    git('init', '-q');
    git('add', '-A');
    commit(`a long subject, ${'and more '.repeat(20)}`);
  });

  it('names the commit, and whether files differ from it', async () => {
    await expectDeployed();
    const { id, tag, message } = cloudflare.served(NAME);
    expect(tag).toMatch(/^[0-9a-f]{12}$/);
    expect(git('rev-parse', tag)).toBe(git('rev-parse', 'HEAD'));
    expect(message).toMatch(new RegExp(`^${tag} a long subject, and more`));
    // Cloudflare takes no longer one.
    expect(message).toHaveLength(100);
    writeFileSync(join(directory, 'new.ts'), '');
    const printed = await expectDeployed();
    expect(printed).toContain(
      `Replaces version ${id} (${tag}), deployed by anna@example.com at 2026-11-20T10:00:00Z\n`,
    );
    expect(printed).toContain(` (${tag}-dirty) at `);
    expect(await expectDeployed()).toContain(` (${tag}-dirty), deployed by `);
  });

  it.each<[lack: string, arrange: () => unknown]>([
    ['is newer than your working copy: `git pull`', () => git('reset', '-q', '--hard', 'HEAD^')],
    [
      'has commits that your working copy lacks: merge them',
      () => {
        git('reset', '-q', '--hard', 'HEAD^');
        commit('another');
      },
    ],
    [
      'its commit is not in your working copy: `git fetch` (`--unshallow` in CI)',
      () => {
        rmSync(join(directory, '.git'), { recursive: true });
        git('init', '-q');
        git('add', '-A');
        commit('a clone without the commit');
      },
    ],
  ])('replaces no version that serves and %s', async (lack, arrange) => {
    commit('later');
    await expectDeployed();
    const { id, tag } = cloudflare.served(NAME);
    arrange();
    const { code, stderr } = await deploy();
    expect(code).toBe(1);
    expect(stderr).toContain(
      `failed at the checks: version ${id} (${tag}), deployed by anna@example.com at 2026-11-20T10:00:00Z, serves, and ${lack}. \`--replace\` replaces it all the same.\nNothing has changed.`,
    );
    expect(cloudflare.served(NAME).id).toBe(id);
    await expectDeployed('--replace');
    expect(cloudflare.served(NAME).id).not.toBe(id);
  });
});

it('replaces no version that was deployed since its checks, but with --replace', async () => {
  await expectDeployed();
  let other = '';
  const deployMeanwhile = () => {
    cloudflare.fault = (request) => {
      if (!request.includes('time_travel')) return undefined;
      cloudflare.fault = () => undefined;
      other = cloudflare.upload(NAME, { tag: 'other', message: '', bound: [], script: '' });
      return undefined;
    };
  };
  deployMeanwhile();
  const { code, stderr } = await deploy();
  expect(code).toBe(1);
  expect(stderr).toContain(
    `failed at the upload: version ${other} (other), deployed by anna@example.com at 2026-11-20T10:00:00Z, has come between: look at it`,
  );
  expect(cloudflare.served(NAME).id).toBe(other);
  deployMeanwhile();
  await expectDeployed('--replace');
  expect(cloudflare.served(NAME).id).not.toBe(other);
});

it('names the version that another deployment has put in its place after the upload', async () => {
  cloudflare.fault = (request) => {
    if (!request.includes('health')) return undefined;
    cloudflare.upload(NAME, { tag: 'other', message: '', bound: [], script: '' });
    return undefined;
  };
  const { code, stderr } = await deploy();
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /failed at the health check: version \S+ \(other\), .* has come between: /,
  );
});
