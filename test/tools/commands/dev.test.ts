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
 * The first of three. The system gives ports from 32768 on to outgoing connections, and dev adds
 * 6,228 for its debugger.
 */
const PORT = 21_000 + Math.floor(Math.random() * 5_000);
const listed = z.object({
  data: z.array(z.object({ gallery: z.array(z.object({ url: z.string() })) })),
});

let project: ProjectCopy;
let service: Service;
/** A second one of the same working copy, which listens on all addresses. */
let second: Service;

/** Of its user, with the folder of an old wrangler. */
let home: string;

const foldersAt = (path: string) => ({ HOME: path, XDG_CONFIG_HOME: '', TMPDIR: path });

beforeAll(async () => {
  project = new ProjectCopy();
  // wrangler warns when types that lie beside package.json are not those of what it serves.
  const declarations = readdirSync('.').filter((name) => name.endsWith('.d.ts'));
  for (const name of declarations) project.write(name, readFileSync(name, 'utf8'));
  service = await project.serveByDev(PORT, foldersAt('/dev/null'));
  home = join(project.directory, 'home');
  mkdirSync(join(home, '.wrangler'), { recursive: true });
  second = await project.serveByDev(PORT + 1, foldersAt(home), '--host', '0.0.0.0');
});
afterAll(() => project.remove());

it('two of one working copy serve, do each step of the set-up once, and print no warning', () => {
  const printed = service.output() + second.output();
  expect(printed.match(/^Created \.dev\.vars/gm)).toHaveLength(1);
  expect(printed.match(/^Loaded 71 sample listings/gm)).toHaveLength(1);
  expect(printed).not.toMatch(/types|warn|error|binding|RATE_LIMIT|wrangler/i);
});

async function shell(script: string): Promise<string> {
  const failing = script.replaceAll('curl ', 'curl -f ');
  return (await promisify(execFile)('sh', ['-ec', failing], { timeout: 30_000 })).stdout;
}

it('prints three curl lines that work unchanged', async () => {
  const lines = service.output().match(/^curl .*$/gm) ?? [];
  const responses = await Promise.all(lines.map(shell));
  expect(responses.map((response) => JSON.parse(response))).toEqual([
    expect.objectContaining({ object: 'health', status: 'ok' }),
    expect.objectContaining({ object: 'list', has_more: true }),
    expect.objectContaining({ object: 'event', type: 'booking.created' }),
  ]);
});

it('gives the responses of the README to its requests, which are a page, a listing and an event', async () => {
  const scripts = getCodeBlocks('README.md', 'sh').filter((block) => block.includes('curl '));
  const shown = getCodeBlocks('README.md', '').filter((block) => block.startsWith('{'));
  expect(shown).toHaveLength(3);
  for (const [index, script] of scripts.entries()) {
    const output = await shell(script.replaceAll('http://localhost:3001', service.origin));
    // `...` is what the README leaves out.
    const parts = shown[index]?.split('...').map(RegExp.escape) ?? [];
    expect(output).toMatch(new RegExp(`^${parts.join('.*')}$`, 's'));
  }
});

it('serves with a home and a temporary folder that cannot be written, and writes nothing there', () => {
  expect(readdirSync(home, { recursive: true })).toEqual(['.wrangler']);
});

describe('on a network', () => {
  const isExternal = ({ family, internal }: NetworkInterfaceInfo) => family === 'IPv4' && !internal;
  /** The address of this machine for other hosts; loopback on a machine without a network. */
  const address =
    Object.values(networkInterfaces())
      .flat()
      .filter((info) => info !== undefined)
      .find(isExternal)?.address ?? '127.0.0.1';

  /** Requests a path of the second service as another host does. */
  async function request(path: string, host = `${address}:${PORT + 1}`) {
    const options = { host: address, port: PORT + 1, path, headers: { Host: host } };
    const [response] = await once(get(options), 'response');
    return { status: response.statusCode, body: await text(response) };
  }

  it('listens on loopback by default', async ({ skip }) => {
    skip(address === '127.0.0.1', 'a network');
    await expect(fetch(`http://${address}:${PORT}/api/health`)).rejects.toThrow();
  });

  it('serves the API to other hosts with --host', async () => {
    expect(await request('/api/health')).toMatchObject({ status: 200 });
    expect(second.output()).toContain(
      '\nEveryone on this network can use this key, and read and change the local database.\n',
    );
  });

  it('logs requests of other hosts as any other', async () => {
    await request('/api/none?from=phone');
    await expect.poll(second.output).toMatch(/ GET \/api\/none\?from=phone 404 \d+ ms /);
  });

  // conventions.md and `--help` say that everyone on the network can change the local database.
  it.each([
    ['its address', undefined, 403],
    ['localhost', `localhost:${PORT + 1}`, 200],
  ])(
    'responds to other hosts at the Local Explorer if they name it %s',
    async (_, host, status) => {
      expect(await request('/cdn-cgi/explorer/api/d1/database', host)).toMatchObject({ status });
    },
  );
});

it('a taken port is an error that names PORT', async () => {
  vi.stubEnv('PORT', String(PORT));
  const stderr = `port ${PORT}: cannot listen: address already in use. Use another port: PORT=4000 npm run dev\n`;
  expect(await project.run('dev.ts')).toEqual({ code: 1, stdout: '', stderr });
});

it('shows drawings for the photos of the samples, on whichever port', async () => {
  for (const { origin } of [service, second]) {
    const url = `${origin}/api/v1/web/properties?limit=100&fresh=true`;
    const page = await fetch(url, { headers: { 'x-api-key': API_KEY } });
    const photos = listed.parse(await page.json()).data.flatMap(({ gallery }) => gallery);
    expect(photos.every((each) => each.url.startsWith(`${origin}/sample-photos/`))).toBe(true);
    // One of each drawing: test/development/sample-photos.test.ts proves that every photo has one.
    const drawings = new Map(photos.map((each) => [each.url.replace(/^.*\/\d+-/, ''), each.url]));
    expect(drawings.size).toBeGreaterThan(10);
    for (const address of drawings.values()) {
      const { ok, headers: own } = await fetch(address, { method: 'HEAD' });
      expect([address, ok, own.get('Content-Type')]).toEqual([address, true, 'image/webp']);
    }
  }
  // What is stored could go to another database.
  const query = `SELECT count(*) AS found FROM properties WHERE source || coalesce(document, '') LIKE '%localhost%'`;
  expect(project.rows(query)).toEqual([{ found: 0 }]);
});

it('rewrites no address but that of the samples', async () => {
  const url = 'https://images.example.com/homes/own/1.jpg';
  const file = project.write('own.json', {
    properties: [
      {
        slug: 'own-home',
        name: 'Own',
        status: 'listed',
        display_order: 1,
        photos: [{ url, section: 'hero', web_visible: true, web_sort_order: 1 }],
      },
    ],
  });
  expect(await project.run('import-listings.ts', file, '--no-undo')).toMatchObject({ code: 0 });
  const headers = { 'x-api-key': API_KEY };
  const path = '/api/v1/web/properties/own-home?fresh=true';
  const response = await fetch(`${service.origin}${path}`, { headers });
  expect(await response.json()).toMatchObject({ hero_image: { url } });
});

it('prints a short line for each request, with its query', async () => {
  await fetch(`${service.origin}/api/none?q=1`, { headers: { 'X-Request-ID': 'short-line' } });
  const line = /^\d\d:\d\d:\d\d GET \/api\/none\?q=1 404 \d+ ms resource_missing short-line$/m;
  await expect.poll(service.output).toMatch(line);
});

it('prints the key, and the addresses of its pages and of a debugger, which respond', async () => {
  const output = service.output();
  expect(output).toContain(`  API key         ${API_KEY}\n`);
  for (const path of ['/', '/docs', '/preview', '/api/docs', '/cdn-cgi/explorer']) {
    const address = `${service.origin}${path}`;
    expect(output).toContain(`  ${address}\n`);
    // As the start page asks.
    const { headers } = await fetch(address, { method: 'HEAD' });
    expect(headers.get('Content-Type')).toMatch(/^text\/html/);
  }
  const [, url = ''] = /^ {2}Debugger +(ws:.*)$/m.exec(output) ?? [];
  const targets = await (await fetch(`http://${new URL(url).host}/json`)).json();
  expect(targets).toMatchObject([{ webSocketDebuggerUrl: url }]);
});

it('ends with 0 on SIGTERM, which leaves its port free', async () => {
  expect(await service.stop('SIGTERM')).toBe(0);
  await expect(fetch(service.origin)).rejects.toThrow();
});

/** Kills one process alone. Every process that the service has started must end. */
async function killAlone({ group }: Service, victim: string): Promise<void> {
  const select = ['-g', String(group), '-f', victim];
  expect(spawnSync('pkill', ['-KILL', '-o', ...select]).status).toBe(0);
  const findProcesses = () => spawnSync('pgrep', ['-g', String(group)]).status;
  await expect.poll(findProcesses).toBe(1);
}

it('no process survives when dev itself is killed', () =>
  killAlone(second, 'tools/commands/dev.ts --host 0.0.0.0$'));
