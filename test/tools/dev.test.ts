import { execFile, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { codeBlocksOf } from '../docs/markdown.ts';
import { claimPort } from '../support/node/port.ts';
import { ProjectCopy, type Service } from '../support/node/project-copy.ts';

const SIGNALS: NodeJS.Signals[] = process.env.FULL ? ['SIGKILL', 'SIGINT', 'SIGTERM'] : ['SIGKILL'];
const API_KEY = 'dev_key_4f1c09a7b25e4d8391';
const listed = z.object({
  data: z.array(
    z.object({ slug: z.string(), hero_image: z.object({ url: z.string() }).nullable() }),
  ),
});

let project: ProjectCopy;
let service: Service;
/** What the service and a second one printed, which were started at the same moment. */
let outputs: string[];

beforeAll(async () => {
  project = new ProjectCopy();
  // wrangler warns when types that lie beside package.json are not those of what it serves.
  const declarations = readdirSync('.').filter((name) => name.endsWith('.d.ts'));
  for (const name of declarations) project.write(name, readFileSync(name, 'utf8'));
  const ports = [await claimPort(), await claimPort()];
  const both = await Promise.all(ports.map((port) => project.serveByDev(port)));
  outputs = both.map(({ output }) => output());
  // The photos have the origin of the one that loaded the samples.
  both.sort(
    (a, b) => Number(b.output().includes('Loaded')) - Number(a.output().includes('Loaded')),
  );
  const [first, second] = both;
  if (!first || !second) throw new Error('one is missing');
  service = first;
  expect(await second.stop('SIGTERM')).toBe(0);
});
afterAll(() => project.remove());

it('two first set-ups of one working copy serve, do each step once between them, and print no warning', () => {
  const printed = outputs.join('');
  expect(printed.match(/^Created \.dev\.vars/gm)).toHaveLength(1);
  expect(printed.match(/^Migrated the local database/gm)).toHaveLength(1);
  expect(printed.match(/^Loaded 71 sample listings/gm)).toHaveLength(1);
  expect(printed).not.toMatch(/types|warn|error|binding|RATE_LIMIT|wrangler/i);
});

it('serves the sample listings on PORT, and drawings for their photos', async () => {
  const url = `${service.origin}/api/v1/web/properties?limit=100`;
  const page = await fetch(url, { headers: { 'x-api-key': API_KEY } });
  const { data } = listed.parse(await page.json());
  expect(data.map(({ slug }) => slug)).toContain('casa-ginebrera');
  const photos = data.flatMap(({ hero_image }) => hero_image ?? []);
  expect(photos.every((photo) => photo.url.startsWith(`${service.origin}/`))).toBe(true);
  const photo = await fetch(photos[0]?.url ?? '');
  expect(photo.headers.get('Content-Type')).toBe('image/svg+xml');
});

async function shell(script: string): Promise<string> {
  const failing = script.replaceAll('curl ', 'curl -f ');
  return (await promisify(execFile)('sh', ['-ec', failing], { timeout: 30_000 })).stdout;
}

it('prints three curl lines that work unchanged, as the first requests of the README do', async () => {
  const lines = service.output().match(/^curl .*$/gm) ?? [];
  const responses = await Promise.all(lines.map(shell));
  expect(responses.map((response) => JSON.parse(response))).toEqual([
    expect.objectContaining({ object: 'health', status: 'ok' }),
    expect.objectContaining({ object: 'list', has_more: true }),
    expect.objectContaining({ object: 'event', type: 'booking.created' }),
  ]);
  const script = codeBlocksOf('README.md', 'sh').find((block) => block.includes('curl ')) ?? '';
  const output = await shell(script.replaceAll('http://localhost:3001', service.origin));
  for (const part of ['"object":"list"', '"status":"pending"', '"status":"idempotent"']) {
    expect(output).toContain(part);
  }
});

it('prints the log of the Worker if its output is no terminal', async () => {
  const id = 'printed-log-line';
  await fetch(`${service.origin}/api/none`, { headers: { 'X-Request-ID': id } });
  const line = () => service.output().match(new RegExp(`^.*${id}.*$`, 'm'))?.[0] ?? '';
  await expect.poll(line).not.toBe('');
  expect(JSON.parse(line())).toMatchObject({ message: 'request', status: 404 });
});

it('prints the key, and the addresses of its pages and of a debugger, which respond', async () => {
  const output = service.output();
  expect(output).toContain(`  API key     ${API_KEY}\n`);
  for (const path of ['/', '/preview', '/api/docs']) {
    const address = `${service.origin}${path}`;
    expect(output).toContain(`  ${address}\n`);
    expect((await fetch(address)).headers.get('Content-Type')).toMatch(/^text\/html/);
  }
  const [, url = ''] = /^ {2}Debugger +(ws:.*)$/m.exec(output) ?? [];
  const targets = await (await fetch(`http://${new URL(url).host}/json`)).json();
  expect(targets).toMatchObject([{ webSocketDebuggerUrl: url }]);
});

it('rejects a port that is in use, and ends with 0 on SIGTERM, which leaves its port free', async () => {
  const port = Number(new URL(service.origin).port);
  await expect(project.serveByDev(port)).rejects.toThrow(`port ${port} is in use`);
  expect(await service.stop('SIGTERM')).toBe(0);
  const server = createServer().listen(port, '127.0.0.1');
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject));
  await new Promise((resolve) => server.close(resolve));
});

it('ends when npm alone is killed during the set-up', async () => {
  const fresh = new ProjectCopy();
  const { output, stop } = await fresh.serveByNpm(await claimPort(), /^Created \.dev\.vars/m);
  // It has stopped when the last program that could print has ended.
  await stop('SIGKILL');
  expect(output()).not.toContain('Ready');
  await fresh.remove();
});

// npm passes signals on in the same way; a kill it cannot.
it.each(SIGNALS)(
  'names the fault when every response is a 500, keeps .dev.vars, takes PORT from it, and leaves no process behind when npm alone is sent %s',
  async (signal) => {
    const port = await claimPort();
    const vars = `API_KEY=any\nPORT=${port}\nJWT_JWKS=\nFEED_CACHE_SECONDS=soon\n`;
    project.write('.dev.vars', vars);
    const faulty = await project.serveByNpm(undefined, /^Not ready/m);
    expect(faulty.output()).toMatch(
      /^Not ready: every response of http:\S+ is a 500: .*FEED_CACHE_SECONDS must be a whole number/m,
    );
    expect(faulty.output()).not.toMatch(/^Ready/m);
    expect((await fetch(`http://localhost:${port}/api/health`)).status).toBe(500);
    expect(readFileSync(join(project.directory, '.dev.vars'), 'utf8')).toBe(vars);
    // The bundle is not minified: its stack names functions. The log comes through wrangler, which
    // may take longer than Vitest's second.
    const stack = /"cause":"[^"]*\bat guard\w* \(file:[^)]*\/dev-worker\.js:\d+:\d+\)/;
    await expect.poll(faulty.output, { timeout: 20_000 }).toMatch(stack);
    await faulty.stop(signal);
    const findProcesses = () => spawnSync('pgrep', ['-f', project.directory]).status;
    await expect.poll(findProcesses, { timeout: 20_000 }).toBe(1);
  },
);
