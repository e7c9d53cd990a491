/**
 * Renders the repository's documents and example programs as pages. The page of
 * `docs/guides/apps.md` is at `/docs/guides/apps.md`, so that links between documents work.
 */

import { html, raw } from 'hono/html';
import type { PropsWithChildren } from 'hono/jsx';
import { Marked } from 'marked';
import { Frame } from '../frame.tsx';
import { eventTypesDocument } from './event-types.ts';
import * as files from './texts.ts';

/** Languages of code blocks that get a copy button. */
const COPYABLE = ['sh', 'bash', 'program'];

/** Values in the documents. The pages replace them with the values of the running service. */
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

/** The documents' paths by folder, such as `guides`, in the order of the index. */
const FOLDERS = Map.groupBy(
  new Set([...linked, ...TEXTS.keys()].filter((path) => TEXTS.has(path))),
  (path) => /^docs\/(\w+)\//.exec(path)?.[1] ?? 'repository',
);
const PATHS = [...FOLDERS.values()].flat();

/**
 * Returns the path of a document. The requested path may omit `.md`. For a folder, returns its
 * first document.
 */
function findPath(requestedPath: string): string | undefined {
  const isFile = (path: string) => path === requestedPath || path === `${requestedPath}.md`;
  return PATHS.find(isFile) ?? PATHS.find((path) => path.startsWith(`${requestedPath}/`));
}

type Running = { origin: string; apiKey: string };

/** Returns the page of a document; undefined if the document does not exist. */
export function findDocumentPage(requestedPath: string, running: Running) {
  const path = findPath(requestedPath);
  if (path === undefined) return undefined;
  const index = PATHS.indexOf(path);
  const neighbours = { Previous: PATHS[index - 1], Next: PATHS[index + 1] };
  return (
    <IndexedPage title={getTitle(path)} path={path}>
      {raw(render(path, running))}
      <ul class="row neighbours">
        {Object.entries(neighbours).map(([label, path]) => (
          <li>{path && raw(html`${label}: <a href="/${path}">${getTitle(path)}</a>`)}</li>
        ))}
      </ul>
    </IndexedPage>
  );
}

/** Renders the page for a path that does not exist. */
export function NotFoundPage({ path }: { path: string }) {
  return (
    <IndexedPage title="Not found">
      <h1>
        There is no page <code>{path}</code>
      </h1>
    </IndexedPage>
  );
}

/** Renders a page next to the index of all documents. */
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
              {paths.map((target) => (
                <li>
                  <a href={`/${target}`} aria-current={target === path ? 'page' : undefined}>
                    {getTitle(target)}
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

/** Returns the title of a document, or the file name of a program. */
function getTitle(path: string): string {
  if (path === INDEX) return 'The documents';
  if (!path.endsWith('.md')) return path.replace(/^.*\//, '');
  return /^# (.+)$/m.exec(TEXTS.get(path) ?? '')?.[1] ?? path;
}

function render(path: string, { origin, apiKey }: Running): string {
  const marked = new Marked({
    renderer: {
      heading({ depth, text: heading, tokens }) {
        const id = makeAnchor(heading);
        const content = raw(this.parser.parseInline(tokens));
        return `${html`<h${raw(depth)} id="${id}"><a href="#${id}">${content}</a></h${raw(depth)}>`}`;
      },
      code({ text: code, lang = '' }) {
        const copy = COPYABLE.includes(lang)
          ? html`<button type="button" class="copy">Copy</button>`
          : '';
        return `${html`<div class="box"><pre><code>${code}</code></pre>${copy}</div>`}`;
      },
      table(token) {
        const cells = (row: typeof token.header, kind: string) => {
          return row
            .map(({ text, tokens }) => {
              // A screen reader would announce an empty `th` as a heading.
              const tag = text === '' ? 'td' : kind;
              return `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`;
            })
            .join('');
        };
        const rows = token.rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('');
        return `<div class="table" tabindex="0"><table><thead><tr>${cells(token.header, 'th')}</tr></thead><tbody>${rows}</tbody></table></div>`;
      },
      link({ href, tokens }) {
        const content = this.parser.parseInline(tokens);
        const target = resolveLink(href, path);
        if (target !== undefined) return `${html`<a href="${target}">${raw(content)}</a>`}`;
        // The file is not served, but readers can open its path in their editor.
        const file = resolvePath(href, path).slice(1);
        return `${html`${raw(content)} (<code>${file}</code>)`}`;
      },
      codespan({ text: code }) {
        const target = code.startsWith('/docs/') ? resolveLink(code, path) : undefined;
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
    : `# ${getTitle(path)}\n\n\`\`\`\`program\n${text}\`\`\`\`\n`;
  const runningDocument = document.replaceAll(ORIGIN, origin).replaceAll(API_KEY, apiKey);
  return String(marked.parse(runningDocument, { async: false }));
}

/** Returns the URL for a link to a document or to another site; undefined for other files. */
function resolveLink(href: string, path: string): string | undefined {
  if (href.startsWith('#') || /^https?:/.test(href)) return href;
  const [, file = '', anchor = ''] = /^.([^#]*)(.*)/.exec(resolvePath(href, path)) ?? [];
  const target = findPath(file);
  return target && `/${target}${anchor}`;
}

/** Resolves a link in a document. Returns, for example, `/docs/guides/apps.md#tokens`. */
function resolvePath(href: string, path: string): string {
  const { pathname, hash } = new URL(href, `https://repository.invalid/${path}`);
  return pathname + hash;
}

/** Returns the anchor that GitHub generates for a heading. */
function makeAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
}
