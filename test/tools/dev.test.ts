import { execFile, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { codeBlocksOf } from '../docs/markdown.ts';
import { claimPort } from '../support/node/port.ts';
import { ProjectCopy, type Service } from '../support/node/project-copy.ts';

const SIGNALS: NodeJS.Signals[] = process.env.FULL === '1' ? ['SIGINT', 'SIGTERM'] : ['SIGINT'];
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

describe('two first set-ups of one working copy at the same moment', () => {
  it('both serve, do each step once between them, and print no warning', () => {
    const printed = outputs.join('');
    expect(printed.match(/^Created \.dev\.vars/gm)).toHaveLength(1);
    expect(printed.match(/^Migrated the local database/gm)).toHaveLength(1);
    expect(printed.match(/^Loaded 71 sample listings/gm)).toHaveLength(1);
    expect(printed).not.toMatch(/types|warn|error/i);
  });
});

async function shell(script: string): Promise<string> {
  return (await promisify(execFile)('sh', ['-ec', script], { timeout: 30_000 })).stdout;
}

describe('dev', () => {
  it('serves the sample listings on PORT, and drawings for their photos', async () => {
    const url = `${service.origin}/api/v1/web/properties?limit=100`;
    const page = await fetch(url, { headers: { 'x-api-key': API_KEY } });
    const { data } = listed.parse(await page.json());
    expect(data.map(({ slug }) => slug)).toContain('casa-ginebrera');
    expect(data.length).toBeGreaterThan(40);
    const photos = data.flatMap(({ hero_image }) => hero_image ?? []);
    expect(photos.every((photo) => photo.url.startsWith(`${service.origin}/`))).toBe(true);
    const photo = await fetch(photos[0]?.url ?? '');
    expect(photo.headers.get('Content-Type')).toBe('image/svg+xml');
    expect(await photo.text()).toMatch(/^<svg /);
  });

  it('prints three curl lines that work unchanged', async () => {
    const lines = service.output().match(/^curl .*$/gm) ?? [];
    expect(lines).toHaveLength(3);
    const responses = await Promise.all(lines.map((line) => shell(`${line} -f`)));
    expect(responses.map((response) => JSON.parse(response))).toEqual([
      expect.objectContaining({ object: 'health', status: 'ok' }),
      expect.objectContaining({ object: 'list', has_more: true }),
      expect.objectContaining({ object: 'event', type: 'booking.created' }),
    ]);
  });

  it('responds to the unchanged first requests of the README', async () => {
    const script = codeBlocksOf('README.md', 'sh').find((block) => block.includes('curl ')) ?? '';
    expect(script).toContain('http://localhost:3001/');
    const output = await shell(
      script.replaceAll('http://localhost:3001', service.origin).replaceAll('curl ', 'curl -f '),
    );
    expect(output).toContain('"object":"list"');
    expect(output).toContain('"status":"pending"');
    expect(output).toContain('"status":"idempotent"');
  });

  it('prints the log of the Worker if its output is no terminal', async () => {
    const id = 'printed-log-line';
    await fetch(`${service.origin}/api/none`, { headers: { 'X-Request-ID': id } });
    const line = () =>
      service
        .output()
        .split('\n')
        .find((each) => each.includes(id)) ?? '';
    await expect.poll(line).not.toBe('');
    expect(JSON.parse(line())).toMatchObject({ message: 'request', status: 404 });
  });

  it('prints the addresses of its pages and the key, and nothing of its bindings', async () => {
    for (const path of ['/', '/preview', '/api/docs']) {
      const address = `${service.origin}${path}`;
      expect(service.output()).toContain(`  ${address}\n`);
      expect((await fetch(address)).headers.get('Content-Type')).toMatch(/^text\/html/);
    }
    expect(service.output()).toContain(`  API key     ${API_KEY}\n`);
    expect(service.output()).not.toMatch(/binding|RATE_LIMIT|wrangler/);
  });

  it('prints the address of a debugger that responds', async () => {
    const [, url = ''] = /^ {2}Debugger +(ws:.*)$/m.exec(service.output()) ?? [];
    const targets = await (await fetch(`http://${new URL(url).host}/json`)).json();
    expect(targets).toMatchObject([{ webSocketDebuggerUrl: url }]);
  });

  it('rejects a port that is in use, or cannot be one, in one line', async () => {
    const port = new URL(service.origin).port;
    await expect(project.serveByDev(Number(port))).rejects.toThrow(`port ${port} is in use`);
    await expect(project.serveByDev(70_000)).rejects.toThrow(
      'PORT must be a whole number from 1 to 65535, not "70000"',
    );
  });

  it('ends with 0 on SIGTERM and leaves its port free', async () => {
    expect(await service.stop('SIGTERM')).toBe(0);
    const port = Number(new URL(service.origin).port);
    const server = createServer().listen(port, '127.0.0.1');
    await new Promise((resolve, reject) => {
      server.once('listening', resolve);
      server.once('error', reject);
    });
    await new Promise((resolve) => server.close(resolve));
  });

  it('ends when npm alone is killed during the set-up', async () => {
    const fresh = new ProjectCopy();
    try {
      const { output, stop } = await fresh.serveByNpm(await claimPort(), /^Created \.dev\.vars/m);
      // It has stopped when the last program that could print has ended.
      await stop('SIGKILL');
      expect(output()).not.toContain('Ready');
    } finally {
      await fresh.remove();
    }
  });

  // npm passes both on in the same way.
  it.each(SIGNALS)(
    'names the fault when every response is a 500, keeps running, and ends when npm alone is sent %s',
    async (signal) => {
      project.write('.dev.vars', 'API_KEY=any\nJWT_JWKS=\nFEED_CACHE_SECONDS=soon\n');
      const faulty = await project.serveByNpm(await claimPort(), /^Not ready/m);
      expect(faulty.output()).toMatch(
        /^Not ready: every response of http:\S+ is a 500: .*FEED_CACHE_SECONDS must be a whole number/m,
      );
      expect(faulty.output()).not.toMatch(/^Ready/m);
      expect((await fetch(`${faulty.origin}/api/health`)).status).toBe(500);
      // The bundle is not minified: its stack names functions.
      await expect
        // The log comes through wrangler, which may take longer than Vitest's second.
        .poll(faulty.output, { timeout: 20_000 })
        .toMatch(/"cause":"[^"]*\bat guard\w* \(file:[^)]*\/dev-worker\.js:\d+:\d+\)/);
      await faulty.stop(signal);
      await expect(fetch(faulty.origin)).rejects.toThrow();
    },
  );

  it('keeps .dev.vars, takes PORT from it, and leaves no process behind when npm alone is killed', async () => {
    const port = await claimPort();
    const vars = `API_KEY=first key's,${API_KEY}\nPORT=${port}\nENVIRONMENT=development\nFEED_CACHE_SECONDS=0\nRATE_LIMIT_DEFAULT=1000000\nJWT_JWKS=\n`;
    project.write('.dev.vars', vars);
    const again = await project.serveByNpm();
    expect(again.origin).toBe(`http://localhost:${port}`);
    expect(readFileSync(join(project.directory, '.dev.vars'), 'utf8')).toBe(vars);
    expect(again.output()).toContain(`'x-api-key: first key'\\''s'`);

    await again.stop('SIGKILL');
    const findProcesses = () => spawnSync('pgrep', ['-f', project.directory]).status;
    await expect.poll(findProcesses, { timeout: 20_000 }).toBe(1);
  });
});
