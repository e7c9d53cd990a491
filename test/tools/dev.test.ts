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

/** What is killed alone, by its arguments. */
const VICTIMS = process.env.FULL
  ? ['npm run dev', 'wrangler/.* dev', 'workerd serve']
  : ['npm run dev'];
const API_KEY = 'dev_key_4f1c09a7b25e4d8391';
const listed = z.object({
  data: z.array(z.object({ gallery: z.array(z.object({ url: z.string() })) })),
});

let project: ProjectCopy;
/** Two that were started at the same moment. */
let service: Service;
let second: Service;

beforeAll(async () => {
  project = new ProjectCopy();
  // wrangler warns when types that lie beside package.json are not those of what it serves.
  const declarations = readdirSync('.').filter((name) => name.endsWith('.d.ts'));
  for (const name of declarations) project.write(name, readFileSync(name, 'utf8'));
  const ports = [await claimPort(), await claimPort()] as const;
  [service, second] = await Promise.all([
    project.serveByDev(ports[0]),
    project.serveByDev(ports[1]),
  ]);
});
afterAll(() => project.remove());

it('two first set-ups of one working copy serve, do each step once between them, and print no warning', () => {
  const printed = service.output() + second.output();
  expect(printed.match(/^Created \.dev\.vars/gm)).toHaveLength(1);
  expect(printed.match(/^Migrated the local database/gm)).toHaveLength(1);
  expect(printed.match(/^Loaded 71 sample listings/gm)).toHaveLength(1);
  expect(printed).not.toMatch(/types|warn|error|binding|RATE_LIMIT|wrangler/i);
});

it('shows drawings for the photos of the samples, on whichever port, also after a patch', async () => {
  const photo = 'https://images.example.com/homes/another/01-hero.jpg';
  const patch = project.write('patch.json', {
    properties: [{ slug: 'casa-ginebrera', photos: [{ url: photo, section: 'hero' }] }],
  });
  expect((await project.run('import-listings.ts', patch, '--patch')).code).toBe(0);
  for (const { origin } of [service, second]) {
    const url = `${origin}/api/v1/web/properties?limit=100&fresh=true`;
    const page = await fetch(url, { headers: { 'x-api-key': API_KEY } });
    const photos = listed.parse(await page.json()).data.flatMap(({ gallery }) => gallery);
    expect(photos.every((each) => each.url.startsWith(`${origin}/sample-photos/`))).toBe(true);
    expect(photos.map((each) => each.url)).toContain(
      `${origin}/sample-photos/homes/another/01-hero.jpg`,
    );
    const drawing = await fetch(photos[0]?.url ?? '');
    expect(drawing.headers.get('Content-Type')).toBe('image/svg+xml');
  }
  // What is stored could go to another database.
  const query = `SELECT count(*) AS found FROM properties WHERE source || coalesce(document, '') LIKE '%localhost%'`;
  expect(project.rows(query)).toEqual([{ found: 0 }]);
});

async function shell(script: string): Promise<string> {
  const failing = script.replaceAll('curl ', 'curl -f ');
  return (await promisify(execFile)('sh', ['-ec', failing], { timeout: 30_000 })).stdout;
}

it('prints three curl lines that work unchanged, as the first request of the README does', async () => {
  const lines = service.output().match(/^curl .*$/gm) ?? [];
  const responses = await Promise.all(lines.map(shell));
  expect(responses.map((response) => JSON.parse(response))).toEqual([
    expect.objectContaining({ object: 'health', status: 'ok' }),
    expect.objectContaining({ object: 'list', has_more: true }),
    expect.objectContaining({ object: 'event', type: 'booking.created' }),
  ]);
  const script = codeBlocksOf('README.md', 'sh').find((block) => block.includes('curl ')) ?? '';
  const output = await shell(script.replaceAll('http://localhost:3001', service.origin));
  expect(output).toContain('"object":"list"');
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

/** Kills one process alone. Every process that the service has started must end. */
async function killAlone({ group }: Service, victim: string): Promise<void> {
  const select = ['-g', String(group), '-f', victim];
  expect(spawnSync('pkill', ['-KILL', '-o', ...select]).status).toBe(0);
  const findProcesses = () => spawnSync('pgrep', ['-g', String(group)]).status;
  await expect.poll(findProcesses, { timeout: 20_000 }).toBe(1);
}

it('no process survives when dev itself is killed', () => killAlone(second, 'tools/dev.ts$'));

it.each(VICTIMS)(
  'names the fault when every response is a 500, keeps .dev.vars, takes PORT from it, and leaves no process behind when %s alone is killed',
  async (victim) => {
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
    const stack = /"cause":"[^"]*\bat [a-zA-Z]{8,} \(file:[^)]*\/dev-worker\.js:\d+:\d+\)/;
    await expect.poll(faulty.output, { timeout: 20_000 }).toMatch(stack);
    await killAlone(faulty, victim);
  },
);

// Root may write everywhere, so the program becomes another user.
it.skipIf(process.getuid?.() !== 0)('says which file another user may not write', () => {
  const script = `
    const { command } = await import('./tools/dev.ts');
    const { runToExitCode } = await import('./tools/command-line/command.ts');
    process.setuid(65534);
    process.exitCode = await runToExitCode(command, []);`;
  const options = { cwd: project.directory, encoding: 'utf8' } as const;
  const { stderr, status } = spawnSync(process.execPath, ['--eval', script], options);
  const message = `cannot access ${project.directory}: permission denied\n`;
  expect({ stderr, status }).toEqual({ stderr: message, status: 1 });
});
