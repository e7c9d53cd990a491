/** The parts that the catalogue and the page of a listing share. */

import type { PropsWithChildren } from 'hono/jsx';
import { LOCALES, type LocaleMap } from '../../properties/locale-map.ts';
import { Frame } from '../frame.tsx';
import { LANGUAGES, type Listing, type Photo, textIn } from './catalogue.ts';
import { STATUSES } from './format.ts';
import { formatAddress, type View } from './view.ts';

type PreviewFrameProps = PropsWithChildren<{ title: string; view: View }>;

/** The document around a page of the preview: only texts of listings change their language. */
export function PreviewFrame({ title, view, children }: PreviewFrameProps) {
  return (
    <Frame title={`${title} – Preview`}>
      <nav class="pills row" aria-label="Language of the listings">
        {LOCALES.map((lang) => (
          <a href={formatAddress({ ...view, lang }, '')} aria-current={`${lang === view.lang}`}>
            {LANGUAGES[lang]}
          </a>
        ))}
      </nav>
      {children}
    </Frame>
  );
}

type LocalizedProps = { map: LocaleMap; view: View; instead?: string };

/** A text in the language of the view, else in another language with a note, else `instead`. */
export function Localized({ map, view, instead }: LocalizedProps) {
  const found = textIn(map, view.lang);
  if (found === undefined && instead === undefined) return null;
  if (found?.language === view.lang) return <span lang={view.lang}>{found.text}</span>;
  return (
    <>
      <em lang={found?.language}>{found?.text ?? instead}</em>{' '}
      <span class="mark">{found ? `in ${LANGUAGES[found.language]}` : 'internal name'}</span>
    </>
  );
}

/** Most listings are listed, so that is no badge. */
export function Badges({ listing: { status, is_early_access } }: { listing: Listing }) {
  return (
    <p class="row">
      {status !== 'listed' && <span class={`badge ${status}`}>{STATUSES[status]}</span>}
      {is_early_access && <span class="badge early">Early access</span>}
    </p>
  );
}

/** Marks what is missing, or only the parts of one kind, in any language. */
export function Marks({ missing, kind = '' }: { missing: readonly string[]; kind?: string }) {
  const names = missing.filter((name) => name.endsWith(kind));
  if (names.length === 0) return null;
  return (
    <ul class="row" aria-label="Missing">
      {names.map((name) => (
        <li class="mark">No {name}</li>
      ))}
    </ul>
  );
}

/** A photo. If it cannot be loaded, the style sheet shows its alt text and its address. */
export function Picture({ photo, view }: { photo: Photo | null; view: View }) {
  if (photo === null) return <div class="picture" />;
  return (
    <img
      class="picture"
      src={photo.url}
      alt={photo.alt[view.lang] ?? ''}
      lang={view.lang}
      loading="lazy"
      referrerpolicy="no-referrer"
    />
  );
}
