/** The parts that the catalogue and the page of a listing share. */

import type { PropsWithChildren } from 'hono/jsx';
import { LOCALES, type LocaleMap } from '../../properties/locale-map.ts';
import { Frame } from '../frame.tsx';
import { LANGUAGES, type Listing, type Photo, textIn } from './catalogue.ts';
import { formatAddress, type View } from './view.ts';

export const STATUSES = {
  listed: 'Listed',
  coming_soon: 'Coming soon',
  sold_out: 'Sold out',
  hidden: 'Hidden',
};
export const TYPES = { beach: 'Beach', ski: 'Ski' };

type PreviewFrameProps = PropsWithChildren<{ title: string; view: View }>;

/** The document around a page of the preview: only texts of listings change their language. */
export function PreviewFrame({ title, view, children }: PreviewFrameProps) {
  const languages = (
    <nav class="pills row" aria-label="Language of the listings">
      {LOCALES.map((lang) => (
        <a href={formatAddress({ ...view, lang }, '')} aria-current={`${lang === view.lang}`}>
          {LANGUAGES[lang]}
        </a>
      ))}
    </nav>
  );
  return (
    <Frame title={`${title} – Preview`} style="/preview/preview.css" languages={languages}>
      <main id="main">{children}</main>
    </Frame>
  );
}

type LocalizedProps = { map: LocaleMap; view: View; instead?: string };

/** A text in the language of the view, else in another language with a note, else `instead`. */
export function Localized({ map, view, instead = '' }: LocalizedProps) {
  const found = textIn(map, view.lang);
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
  if (status === 'listed' && !is_early_access) return null;
  return (
    <p class="row">
      {status !== 'listed' && <span class={`badge ${status}`}>{STATUSES[status]}</span>}
      {is_early_access && <span class="badge early">Early access</span>}
    </p>
  );
}

export function Marks({ missing }: { missing: readonly string[] }) {
  if (missing.length === 0) return null;
  return (
    <ul class="row" aria-label="Missing">
      {missing.map((name) => (
        <li class="mark">No {name}</li>
      ))}
    </ul>
  );
}

type MissingBoxProps = PropsWithChildren<{ length: number; summary: string; isOpen?: boolean }>;

/** The script adds the photos that are not loaded. */
export function MissingBox({ length, summary, isOpen, children }: MissingBoxProps) {
  return (
    <details class="box" open={isOpen} hidden={length === 0}>
      <summary>
        <h2>What is missing</h2> {summary} <span id="not-loaded" class="mark" hidden />
      </summary>
      {children}
    </details>
  );
}

type PictureProps = { photo: Photo; view: View };

/** A photo. If it cannot be loaded, the style sheet shows its alt text and its address. */
export function Picture({ photo, view }: PictureProps) {
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

/** Writes where a listing is: Deià, Mallorca. */
export function formatPlace({ city, location }: Listing, { lang }: View): string {
  const name = location && (textIn(location.name, lang)?.text ?? location.slug);
  return joined([...new Set([city, name])], ', ');
}

/** Writes the size of a listing: Beach · 3 bedrooms · 6 guests. */
export function formatSize({ type, bedrooms, bathrooms, capacity, size }: Listing): string {
  return joined([
    type && TYPES[type],
    bedrooms !== null && counted(bedrooms, 'bedroom'),
    bathrooms !== null && counted(bathrooms, 'bathroom'),
    capacity !== null && counted(capacity, 'guest'),
    size !== null && `${size.toLocaleString('en')} m²`,
  ]);
}

/** Writes the price: from 118,000 · share 1/8. The feed names no currency. */
export function formatPrice({ price_from, fraction_from }: Listing): string {
  return joined([
    price_from !== null && `from ${price_from.toLocaleString('en')}`,
    fraction_from !== null && `share ${fraction_from}`,
  ]);
}

/** Joins the texts that are there. */
export function joined(texts: readonly (string | null | false)[], separator = ' · '): string {
  return texts.filter(Boolean).join(separator);
}

/** Writes a number and its noun: 1 listing, 1,200 listings. */
export function counted(value: number, noun: string): string {
  return `${value.toLocaleString('en')} ${noun}${value === 1 ? '' : 's'}`;
}
