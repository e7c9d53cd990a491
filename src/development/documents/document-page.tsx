/**
 * The documents of the repository, and their programs, as pages. The page of `docs/guides/apps.md`
 * is `/docs/guides/apps.md`, so that their links hold.
 */

import { html, raw } from 'hono/html';
import type { PropsWithChildren } from 'hono/jsx';
import { Marked } from 'marked';
import { Frame } from '../frame.tsx';
import { eventTypesDocument } from './event-types.ts';
import * as files from './texts.ts';

/** The languages of blocks that are there to be copied. */
const COPIED = ['sh', 'bash', 'program'];

/** What documents name, and the running service has its own value of. */
const ORIGIN = 'http://localhost:3001';
const API_KEY = 'dev_key_4f1c09a7b25e4d8391';

const INDEX = 'docs/README.md';

const TEXTS = new Map<string, string>([
  ...Object.entries(files),
  ['docs/reference/event-types.md', eventTypesDocument(ORIGIN, API_KEY)],
]);

const linked = [...(TEXTS.get(INDEX) ?? '').matchAll(/\]\(([^)#]+)/g)].map(([, href = '']) =>
  resolvePath(href, INDEX).slice(1),
);

/** By folder, such as `guides`, in the order of the index. */
const FOLDERS = Map.groupBy(
  new Set([...linked, ...TEXTS.keys()].filter((path) => TEXTS.has(path))),
  (path) => /^docs\/(\w+)\//.exec(path)?.[1] ?? 'repository',
);
const PATHS = [...FOLDERS.values()].flat();

/** Of a document, whose address may lack its `.md`, or of the first one in a folder. */
function findPath(asked: string): string | undefined {
  const isFile = (path: string) => path === asked || path === `${asked}.md`;
  return PATHS.find(isFile) ?? PATHS.find((path) => path.startsWith(`${asked}/`));
}

type Running = { origin: string; apiKey: string };

/** Undefined if there is no such document. */
export function findDocumentPage(asked: string, running: Running) {
  const path = findPath(asked);
  if (path === undefined) return undefined;
  const at = PATHS.indexOf(path);
  const neighbours = { Previous: PATHS[at - 1], Next: PATHS[at + 1] };
  return (
    <IndexedPage title={titleOf(path)} path={path}>
      {raw(render(path, running))}
      <ul class="row neighbours">
        {Object.entries(neighbours).map(([words, path]) => (
          <li>{path && raw(html`${words}: <a href="/${path}">${titleOf(path)}</a>`)}</li>
        ))}
      </ul>
    </IndexedPage>
  );
}

/** The page of a path at which there is nothing. */
export function NotFoundPage({ path }: { path: string }) {
  return (
    <IndexedPage title="Not found">
      <h1>
        There is no page <code>{path}</code>
      </h1>
    </IndexedPage>
  );
}

/** A page beside the index of all documents. */
function IndexedPage({
  title,
  path,
  children,
}: PropsWithChildren<{ title: string; path?: string }>) {
  return (
    <Frame title={title} style="/docs/page.css">
      <main id="main" class="document">
        <p class="all">
          <a href="#documents">All documents</a>
        </p>
        {children}
      </main>
      <nav id="documents" aria-label="Documents">
        {[...FOLDERS].map(([folder, paths]) => (
          <>
            <h2>{folder}</h2>
            <ul>
              {paths.map((each) => (
                <li>
                  <a href={`/${each}`} aria-current={each === path ? 'page' : undefined}>
                    {titleOf(each)}
                  </a>
                </li>
              ))}
            </ul>
          </>
        ))}
      </nav>
    </Frame>
  );
}

/** A document begins with its title. A program has its name. */
function titleOf(path: string): string {
  if (path === INDEX) return 'The documents';
  if (!path.endsWith('.md')) return path.replace(/^.*\//, '');
  return /^# (.+)$/m.exec(TEXTS.get(path) ?? '')?.[1] ?? path;
}

function render(path: string, { origin, apiKey }: Running): string {
  const marked = new Marked({
    renderer: {
      heading({ depth, text: heading, tokens }) {
        const id = anchorOf(heading);
        const content = raw(this.parser.parseInline(tokens));
        return `${html`<h${raw(depth)} id="${id}"><a href="#${id}">${content}</a></h${raw(depth)}>`}`;
      },
      code({ text: code, lang = '' }) {
        const copy = COPIED.includes(lang)
          ? html`<button type="button" class="copy">Copy</button>`
          : '';
        return `${html`<div class="box"><pre><code>${code}</code></pre>${copy}</div>`}`;
      },
      table(token) {
        const cells = (row: typeof token.header, kind: string) => {
          // An empty head is no heading.
          const tagOf = (text: string) => (text === '' ? 'td' : kind);
          const cell = ({ text, tokens }: (typeof row)[number]) =>
            `<${tagOf(text)}>${this.parser.parseInline(tokens)}</${tagOf(text)}>`;
          return row.map(cell).join('');
        };
        const rows = token.rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('');
        return `<div class="table" tabindex="0"><table><thead><tr>${cells(token.header, 'th')}</tr></thead><tbody>${rows}</tbody></table></div>`;
      },
      link({ href, tokens }) {
        const content = this.parser.parseInline(tokens);
        const target = addressOf(href, path);
        if (target !== undefined) return `${html`<a href="${target}">${raw(content)}</a>`}`;
        // A file that is not served: its path is of use in an editor.
        const file = resolvePath(href, path).slice(1);
        return `${html`${raw(content)} (<code>${file}</code>)`}`;
      },
      codespan({ text: code }) {
        const target = code.startsWith('/docs/') ? addressOf(code, path) : undefined;
        const content = html`<code>${code}</code>`;
        return `${target === undefined ? content : html`<a href="${target}">${content}</a>`}`;
      },
      image({ href, text: alt }) {
        return `${html`<img src="${resolvePath(href, path)}" alt="${alt}" />`}`;
      },
    },
  });
  const text = TEXTS.get(path) ?? '';
  const document = path.endsWith('.md')
    ? text
    : `# ${titleOf(path)}\n\n\`\`\`\`program\n${text}\`\`\`\`\n`;
  const own = document.replaceAll(ORIGIN, origin).replaceAll(API_KEY, apiKey);
  return String(marked.parse(own, { async: false }));
}

/** Of a document, or of another site; undefined for any other file. */
function addressOf(href: string, path: string): string | undefined {
  if (href.startsWith('#') || /^https?:/.test(href)) return href;
  const [, asked = '', anchor = ''] = /^.([^#]*)(.*)/.exec(resolvePath(href, path)) ?? [];
  const found = findPath(asked);
  return found && `/${found}${anchor}`;
}

/** Returns e.g. `/docs/guides/apps.md#tokens`. */
function resolvePath(href: string, path: string): string {
  const { pathname, hash } = new URL(href, `https://repository.invalid/${path}`);
  return pathname + hash;
}

/** As GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}
