/** The parts that the catalogue and the page of a listing share. */

import type { PropsWithChildren } from 'hono/jsx';
import { LOCALES, type LocaleMap } from '../../properties/locale-map.ts';
import type { Listing, Part, Photo } from '../../properties/missing.ts';
import { Frame } from '../frame.tsx';
import { textIn } from './catalogue.ts';
import { formatPart } from './format.ts';
import { formatAddress, type View } from './view.ts';
import { LANGUAGES, WORDS } from './words.ts';

type PreviewFrameProps = PropsWithChildren<{ title: string; view: View }>;

/** The document around a page of the preview. */
export function PreviewFrame({ title, view, children }: PreviewFrameProps) {
  return (
    <Frame title={`${title} – Preview`}>
      <nav class="pills row" aria-label={WORDS.languageOf}>
        {LOCALES.map((lang) => (
          <a
            href={formatAddress({ ...view, lang }, '')}
            lang={lang}
            aria-current={`${lang === view.lang}`}
          >
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
  const { inLanguage, internalName } = WORDS;
  if (found === undefined && instead === undefined) return null;
  if (found?.language === view.lang) return <span lang={view.lang}>{found.text}</span>;
  return (
    <>
      <em lang={found?.language}>{found?.text ?? instead}</em>{' '}
      <span class="mark">{found ? inLanguage[found.language] : internalName}</span>
    </>
  );
}

/** Most listings are listed, so that is no badge. */
export function Badges({ listing }: { listing: Listing }) {
  const { status, is_early_access } = listing;
  const { statuses, earlyAccess } = WORDS;
  return (
    <p class="badges row">
      {status !== 'listed' && <span class={`badge ${status}`}>{statuses[status]}</span>}
      {is_early_access && <span class="badge early">{earlyAccess}</span>}
    </p>
  );
}

type MarksProps = { missing: readonly Part[]; kinds?: readonly Part['kind'][] };

/** Marks what is missing, or only the parts of some kinds. */
export function Marks({ missing, kinds }: MarksProps) {
  const parts = missing.filter(({ kind }) => kinds === undefined || kinds.includes(kind));
  if (parts.length === 0) return null;
  return (
    <ul class="row" aria-label={WORDS.missing}>
      {parts.map((part) => (
        <li class="mark">{formatPart(part)}</li>
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
      data-failed={WORDS.notLoaded}
      loading="lazy"
      referrerpolicy="no-referrer"
    />
  );
}
