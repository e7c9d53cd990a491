/** Components that the catalogue page and the listing page share. */

import type { PropsWithChildren } from 'hono/jsx';
import { LANGUAGE_NAMES } from '../../../docs/examples/translations.ts';
import { LOCALES } from '../../properties/locale-map.ts';
import { Frame } from '../frame.tsx';
import type { Listing, Part } from './missing.ts';
import { formatAddress, type View } from './view.ts';

type PreviewFrameProps = PropsWithChildren<{ title: string; view: View }>;

/** Renders the HTML document around a preview page. */
export function PreviewFrame({ title, view, children }: PreviewFrameProps) {
  return (
    <Frame title={`${title} – Preview`}>
      <nav class="pills row" aria-label="Language of the listings">
        {LOCALES.map((lang) => (
          <a
            href={formatAddress({ ...view, lang }, '')}
            lang={lang}
            aria-current={`${lang === view.lang}`}
          >
            {LANGUAGE_NAMES[lang]}
          </a>
        ))}
      </nav>
      {children}
    </Frame>
  );
}

export function HiddenMark({ listing }: { listing: Listing }) {
  return listing.status === 'hidden' ? <span class="mark hidden">Hidden</span> : null;
}

type MarksProps = { missing: readonly Part[]; kinds?: readonly Part['kind'][] };

/** Renders marks for missing parts. `kinds` limits the marks to some kinds of parts. */
export function Marks({ missing, kinds }: MarksProps) {
  const parts = missing.filter(({ kind }) => kinds === undefined || kinds.includes(kind));
  if (parts.length === 0) return null;
  return (
    <ul class="row" aria-label="Missing">
      {parts.map((part) => (
        <li class="mark">{formatPart(part)}</li>
      ))}
    </ul>
  );
}

const IN_LANGUAGE = { en: 'in English', es: 'in Spanish', fr: 'in French' };

/** Formats a missing part, e.g. "No title in French". */
export function formatPart({ kind, language }: Pick<Part, 'kind' | 'language'>): string {
  return language === undefined ? `No ${kind}` : `No ${kind} ${IN_LANGUAGE[language]}`;
}
