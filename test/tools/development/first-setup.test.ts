import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimPort } from '../../support/node/port.ts';
import { ProjectCopy } from '../../support/node/project-copy.ts';

let project: ProjectCopy;
let outputs: string[];

beforeAll(async () => {
  project = new ProjectCopy();
  // wrangler warns when types that lie beside package.json are not those of what it serves.
  const declarations = readdirSync('.').filter((name) => name.endsWith('.d.ts'));
  for (const name of declarations) project.write(name, readFileSync(name, 'utf8'));
  const ports = [await claimPort(), await claimPort()];
  const services = await Promise.all(ports.map((port) => project.serveByDev(port)));
  outputs = services.map((service) => service.output());
});
afterAll(() => project.remove());

describe('two first set-ups of one working copy at the same moment', () => {
  it('both serve, and do each step once between them', () => {
    const said = outputs.join('');
    expect(said.match(/^Created \.dev\.vars/gm)).toHaveLength(1);
    expect(said.match(/^Migrated the local database/gm)).toHaveLength(1);
    expect(said.match(/^Loaded 71 sample listings/gm)).toHaveLength(1);
  });

  it('say nothing of types, warnings or errors', () => {
    for (const output of outputs) expect(output).not.toMatch(/types|warn|error/i);
  });
});
