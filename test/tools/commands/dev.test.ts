import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { get } from 'node:http';
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { getCodeBlocks } from '../../support/markdown.ts';
import { ProjectCopy, type Service } from '../../support/node/project-copy.ts';

const API_KEY = 'dev_key_4f1c09a7b25e4d8391';
/**
 * The port of the first service. Its debugger's port is 6,228 higher and must be below 32,768,
 * because the system uses higher ports for outgoing connections.
 */
const PORT = 21_000 + Math.floor(Math.random() * 5_000);
const listingPage = z.object({
  data: z.array(z.object({ gallery: z.array(z.object({ url: z.string() })) })),
});

let project: ProjectCopy;
let service: Service;
/** A second service that runs from the same working copy and listens on all addresses. */
let second: Service;
/** Home folder for the second service. It contains the folder that an old wrangler used. */
let home: string;

/** Returns environment variables that put `dev`'s home and temporary files into a folder. */
const foldersAt = (path: string) => ({ HOME: path, XDG_CONFIG_HOME: '', TMPDIR: path });

beforeAll(async () => {
  project = new ProjectCopy();
  // Wrangler warns if the type declarations next to package.json are outdated.
  const declarations = readdirSync('.').filter((name) => name.endsWith('.d.ts'));
  for (const name of declarations) project.write(name, readFileSync(name, 'utf8'));
  service = await project.serveByDev(PORT, foldersAt('/dev/null'));
  home = join(project.directory, 'home');
  mkdirSync(join(home, '.wrangler'), { recursive: true });
  second = await project.serveByDev(PORT + 1, foldersAt(home), '--host', '0.0.0.0');
});
afterAll(() => project.remove());

describe('two services from one working copy', () => {
  const getOutput = () => service.output() + second.output();

  it('perform each step of the set-up only once', () => {
    const printed = getOutput();
    expect(printed.match(/^Created \.dev\.vars/gm)).toHaveLength(1);
    expect(printed.match(/^Loaded 71 sample listings/gm)).toHaveLength(1);
  });

  it('print no warnings', () => {
    expect(getOutput()).not.toMatch(/types|warn|error|binding|RATE_LIMIT|wrangler/i);
  });
});

/**
 * Runs a shell script and returns its output. A `curl` that gets an error status makes the script
 * fail.
 */
async function runShell(script: string): Promise<string> {
  const failing = script.replaceAll('curl ', 'curl -f ');
  return (await promisify(execFile)('sh', ['-ec', failing], { timeout: 30_000 })).stdout;
}

it('prints three curl commands that work unchanged', async () => {
  const lines = service.output().match(/^curl .*$/gm) ?? [];
  const responses = await Promise.all(lines.map(runShell));
  expect(responses.map((response) => JSON.parse(response))).toEqual([
    expect.objectContaining({ object: 'health', status: 'ok' }),
    expect.objectContaining({ object: 'list', has_more: true }),
    expect.objectContaining({ object: 'event', type: 'booking.created' }),
  ]);
});

it("responds to the README's requests as the README shows", async () => {
  const scripts = getCodeBlocks('README.md', 'sh').filter((block) => block.includes('curl '));
  const responses = getCodeBlocks('README.md', '').filter((block) => block.startsWith('{'));
  expect(responses).toHaveLength(3);
  for (const [index, script] of scripts.entries()) {
    const output = await runShell(script.replaceAll('http://localhost:3001', service.origin));
    // The README abbreviates responses with `...`.
    const parts = responses[index]?.split('...').map(RegExp.escape) ?? [];
    expect(output).toMatch(new RegExp(`^${parts.join('.*')}$`, 's'));
  }
});

// The first service shows that neither folder needs to be writable.
it('writes nothing to the home folder or the temporary folder', () => {
  expect(readdirSync(home, { recursive: true })).toEqual(['.wrangler']);
});

describe('dev on a network', () => {
  const isExternal = ({ family, internal }: NetworkInterfaceInfo) => family === 'IPv4' && !internal;
  /** This machine's address on the network; loopback if it has no network. */
  const address =
    Object.values(networkInterfaces())
      .flat()
      .filter((info) => info !== undefined)
      .find(isExternal)?.address ?? '127.0.0.1';

  /** Requests a path from the second service as another host would. */
  async function request(path: string, host = `${address}:${PORT + 1}`) {
    const options = { host: address, port: PORT + 1, path, headers: { Host: host } };
    const [response] = await once(get(options), 'response');
    return { status: response.statusCode, body: await text(response) };
  }

  it('listens only on loopback by default', async ({ skip }) => {
    skip(address === '127.0.0.1', 'a network');
    await expect(fetch(`http://${address}:${PORT}/api/health`)).rejects.toThrow();
  });

  it('serves the API to other hosts with --host', async () => {
    expect(await request('/api/health')).toMatchObject({ status: 200 });
    expect(second.output()).toContain(
      '\nEveryone on this network can use this key, and read and change the local database.\n',
    );
  });

  it('logs requests from other hosts', async () => {
    await request('/api/none?from=phone');
    await expect.poll(second.output).toMatch(/ GET \/api\/none\?from=phone 404 \d+ ms /);
  });

  // conventions.md and `--help` warn that everyone on the network can change the local database.
  it.each([
    ['its address', undefined, 403],
    ['localhost', `localhost:${PORT + 1}`, 200],
  ])(
    'serves the Local Explorer to other hosts only if they use a local Host header (%s)',
    async (_, host, status) => {
      expect(await request('/cdn-cgi/explorer/api/d1/database', host)).toMatchObject({ status });
    },
  );
});

it('suggests a different port if the port is in use', async () => {
  vi.stubEnv('PORT', String(PORT));
  const stderr = `port ${PORT}: cannot listen: address already in use. Use another port: PORT=4000 npm run dev\n`;
  expect(await project.run('dev.ts')).toEqual({ code: 1, stdout: '', stderr });
});

it('serves drawings as sample photos on any port', async () => {
  for (const { origin } of [service, second]) {
    const url = `${origin}/api/v1/web/properties?limit=100&fresh=true`;
    const page = await fetch(url, { headers: { 'x-api-key': API_KEY } });
    const photos = listingPage.parse(await page.json()).data.flatMap(({ gallery }) => gallery);
    expect(photos.every(({ url }) => url.startsWith(`${origin}/sample-photos/`))).toBe(true);
    // One photo per drawing is enough, because test/development/sample-photos.test.ts covers all photos.
    const drawings = new Map(photos.map(({ url }) => [url.replace(/^.*\/\d+-/, ''), url]));
    expect(drawings.size).toBeGreaterThan(10);
    for (const address of drawings.values()) {
      const { ok, headers } = await fetch(address, { method: 'HEAD' });
      expect([address, ok, headers.get('Content-Type')]).toEqual([address, true, 'image/webp']);
    }
  }
  // Stored addresses must not depend on the port, because the rows can be copied to another database.
  const query = `SELECT count(*) AS matches FROM properties WHERE source || coalesce(document, '') LIKE '%localhost%'`;
  expect(project.rows(query)).toEqual([{ matches: 0 }]);
});

it('rewrites only the URLs of sample photos', async () => {
  const replaceHost = (column: string) =>
    `${column} = replace(${column}, 'photos.sample-listings.test', 'images.example.com')`;
  project.rows(
    `UPDATE properties SET ${replaceHost('source')}, ${replaceHost('document')} WHERE slug = 'es-far-vell'`,
  );
  const headers = { 'x-api-key': API_KEY };
  const path = '/api/v1/web/properties/es-far-vell?fresh=true';
  const response = await fetch(`${service.origin}${path}`, { headers });
  const url = expect.stringMatching(/^https:\/\/images\.example\.com\/es-far-vell\//);
  expect(await response.json()).toMatchObject({ hero_image: { url } });
});

it('prints a short line, including the query, for each request', async () => {
  await fetch(`${service.origin}/api/none?q=1`, { headers: { 'X-Request-ID': 'short-line' } });
  const line = /^\d\d:\d\d:\d\d GET \/api\/none\?q=1 404 \d+ ms resource_missing short-line$/m;
  await expect.poll(service.output).toMatch(line);
});

it('prints the API key', () => {
  expect(service.output()).toContain(`  API key         ${API_KEY}\n`);
});

it('prints working URLs for its pages', async () => {
  const output = service.output();
  for (const path of ['/', '/docs', '/preview', '/api/docs', '/cdn-cgi/explorer']) {
    const address = `${service.origin}${path}`;
    expect(output).toContain(`  ${address}\n`);
    // The start page also sends this request.
    const { headers } = await fetch(address, { method: 'HEAD' });
    expect(headers.get('Content-Type')).toMatch(/^text\/html/);
  }
});

it('prints a working URL for its debugger', async () => {
  const [, url = ''] = /^ {2}Debugger +(ws:.*)$/m.exec(service.output()) ?? [];
  const targets = await (await fetch(`http://${new URL(url).host}/json`)).json();
  expect(targets).toMatchObject([{ webSocketDebuggerUrl: url }]);
});

it('exits with 0 and frees its port on SIGTERM', async () => {
  expect(await service.stop('SIGTERM')).toBe(0);
  await expect(fetch(service.origin)).rejects.toThrow();
});

it('leaves no processes behind when it is killed', async () => {
  const group = String(second.group);
  process.kill(second.group, 'SIGKILL');
  const findProcesses = () => spawnSync('pgrep', ['-g', group]).status;
  await expect.poll(findProcesses).toBe(1);
});
