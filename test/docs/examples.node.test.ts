/**
 * Runs the programs in docs/examples and the curl commands in the documents against one service.
 */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { DOCUMENTS, getCodeBlocks } from '../support/markdown.ts';
import { useTestService } from '../support/node/example-service.ts';
import { SITE_URL } from './examples/built-site.ts';
// The tests are in the following modules. Their order matters, because they share one service: they
// add events and change the texts of the listing casa-ginebrera.
import './examples/faults.ts';
import './examples/event-programs.ts';
import './examples/site-programs.ts';
import './examples/site-in-browser.ts';
import './examples/renewed-pages.ts';

vi.stubEnv('SITE_URL', SITE_URL);
vi.stubEnv('SITE_NAME', 'Sun & Snow');

const service = useTestService();

/**
 * Commands in `sh` blocks work unchanged. In `bash` blocks, the reader must replace some values.
 */
const scripts = DOCUMENTS.filter((path) => path !== 'README.md').flatMap((path) =>
  getCodeBlocks(path, 'sh')
    .filter((script) => script.includes('curl '))
    .map((script) => ({ path, script })),
);

describe('a curl command in the documents', () => {
  it.each(scripts)('works when copied from $path ($script)', async ({ script }) => {
    expect(script).toContain('http://localhost:3001/');
    const command = script
      .replaceAll('http://localhost:3001', service().origin)
      .replaceAll('curl ', 'curl -f ');
    const { stdout } = await promisify(execFile)('sh', ['-ec', command], {
      cwd: service().projectDirectory,
    });
    if (script.includes('If-None-Match')) expect(stdout).toBe('304\n');
    else expect(stdout).toMatch(/^\{"object":/);
  });
});
