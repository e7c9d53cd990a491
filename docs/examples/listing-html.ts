/**
 * Renders the parts of a listing's card and page as HTML. A part without a value is an empty
 * string. The preview of `npm run dev` also uses these functions.
 */

import {
  type CountedField,
  CURRENCY,
  LABELS,
  LANGUAGES,
  type Language,
  NOUN_FORMS,
  STATUSES,
  type Text,
  TYPES,
} from './translations.ts';

export type Photo = { readonly url: string; readonly alt: Text };

/** The fields that a card shows, from `GET /api/v1/web/property-cards`. */
export type ListingCard = {
  slug: string;
  name: string;
  status: string;
  title: Text;
  type: string | null;
  bedrooms: number | null;
  bathrooms: number | null;
  capacity: number | null;
  size: number | null;
  city: string | null;
  price_from: number | null;
  fraction_from: string | null;
  hero_image: Photo | null;
  location: { id: string; name: Text } | null;
  is_early_access: boolean;
  /** Cards do not have this field. */
  weeks_per_year?: number | null;
};

/** The fields that a page shows, from `GET /api/v1/web/properties`. */
export type Listing = ListingCard & {
  description: Text;
  unique_features: readonly { label: Text }[];
  amenities: readonly { label: Text }[];
  beds: number | null;
  bathtubs: number | null;
  address: string | null;
  latitude: number | null;
  longitude: number | null;
  location_text: Text;
  gallery: readonly Photo[];
  video_url: string | null;
  financial_analysis_url: string | null;
};

/**
 * Returns the visitor's language if the text is translated into it, and otherwise the first
 * language of the text.
 */
export const findLanguage = (text: Text, language: Language) =>
  [language, ...LANGUAGES].find((candidate) => text[candidate] !== undefined) ?? language;

export const pickText = (text: Text, language: Language) =>
  text[findLanguage(text, language)] ?? '';

export const escapeHtml = (text: string) =>
  text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/** Returns an element with the text and its `lang`. Returns an empty string if there is no text. */
const element = (tag: string, text: Text, language: Language) =>
  pickText(text, language) &&
  `<${tag} lang="${findLanguage(text, language)}">${escapeHtml(pickText(text, language))}</${tag}>`;

const joinParts = (texts: readonly (string | false | null | undefined)[], separator = ' · ') =>
  texts.filter(Boolean).join(separator);

/**
 * Returns an image with the aspect ratio of the style sheet. Load the first images of a page
 * eagerly.
 */
export const picture = ({ url, alt }: Photo, language: Language, loading: 'eager' | 'lazy') =>
  `<img src="${escapeHtml(url)}" alt="${escapeHtml(pickText(alt, language))}" lang="${findLanguage(alt, language)}" width="800" height="600" loading="${loading}">`;

export const heading = (tag: string, { title, name }: ListingCard, language: Language) =>
  element(tag, title, language) || `<${tag}>${escapeHtml(name)}</${tag}>`;

/** Returns the town and the location, e.g. "Deià, Mallorca". */
function townAndLocation({ city, location }: ListingCard, language: Language): string {
  const name = location?.name ?? {};
  const town = city === pickText(name, language) ? null : city;
  return joinParts([town && escapeHtml(town), element('span', name, language)], ', ');
}

export const place = (listing: ListingCard, language: Language) =>
  paragraph('place', townAndLocation(listing, language));

export function badges(
  { status, is_early_access: isEarly }: ListingCard,
  language: Language,
): string {
  const labels = [STATUSES[status]?.[language], isEarly && LABELS.earlyAccess[language]];
  const badges = labels.map((label) => label && `<span class="badge">${label}</span>`);
  return paragraph('badges', joinParts(badges, ' '));
}

/** Returns the buyer's share, e.g. "share of 1/8 · 6 weeks a year". */
export function share({ fraction_from, weeks_per_year }: ListingCard, language: Language): string {
  const fraction = fraction_from && `${LABELS.share[language]} ${fraction_from}`;
  return joinParts([fraction, formatCount('weeks_per_year', weeks_per_year, language)]);
}

/** Returns the price of a share, e.g. "From €289,000 · share of 1/8". */
export function price(listing: ListingCard, language: Language): string {
  const money = { style: 'currency', currency: CURRENCY, maximumFractionDigits: 0 } as const;
  const amount = listing.price_from?.toLocaleString(language, money);
  const text = joinParts([
    amount && `${LABELS.from[language]} ${amount}`,
    share(listing, language),
  ]);
  return paragraph('price', escapeHtml(text));
}

type FactField = Exclude<CountedField, 'weeks_per_year'>;
type Facts = Pick<ListingCard, 'type'> & { readonly [F in FactField]?: number | null };

/** Returns the listing's type and the number of its rooms and guests, e.g. "Beach · 4 bedrooms". */
export function facts(listing: Facts, language: Language, fields = FACTS): string {
  const counts = fields.map((field) => formatCount(field, listing[field], language));
  return paragraph('facts', joinParts([TYPES[listing.type ?? '']?.[language], ...counts]));
}

const FACTS: FactField[] = ['bedrooms', 'beds', 'bathrooms', 'bathtubs', 'capacity', 'size'];
const FACTS_OF_CARD: FactField[] = ['bedrooms', 'bathrooms', 'capacity', 'size'];

/** Returns a number with its noun, e.g. "4 bedrooms". */
function formatCount(field: CountedField, value: number | null | undefined, language: Language) {
  if (!value) return null;
  const [singular, plural] = NOUN_FORMS[field][language];
  const noun = new Intl.PluralRules(language).select(value) === 'one' ? singular : plural;
  return `${value.toLocaleString(language)}\u00a0${noun}`;
}

type Link = { tag: 'h2' | 'h3'; href: string; loading: 'eager' | 'lazy' };

/** Returns a card whose heading links to the listing's page. */
export function card(
  listing: ListingCard,
  language: Language,
  { tag, href, loading }: Link,
): string {
  const { hero_image: photo } = listing;
  return `${photo ? picture(photo, language, loading) : ''}
<div><a href="${escapeHtml(href)}">${heading(tag, listing, language)}</a>${place(listing, language)}${badges(listing, language)}${facts(listing, language, FACTS_OF_CARD)}${price(listing, language)}</div>`;
}

/** Returns the description as paragraphs. Blank lines in the text separate the paragraphs. */
export function text({ description }: Listing, language: Language): string {
  const paragraphs = pickText(description, language).match(/.+(\n.+)*/g) ?? [];
  const elements = paragraphs.map(
    (lines) => `<p>${escapeHtml(lines).replaceAll('\n', '<br>')}</p>`,
  );
  const lang = findLanguage(description, language);
  return elements.length > 0 ? `<div class="text" lang="${lang}">${elements.join('\n')}</div>` : '';
}

export const features = (listing: Listing, language: Language) =>
  labelList(LABELS.features, listing.unique_features, language);
export const amenities = (listing: Listing, language: Language) =>
  labelList(LABELS.amenities, listing.amenities, language);

function labelList(title: Labels, items: readonly { label: Text }[], language: Language): string {
  const elements = items.map(({ label }) => element('li', label, language)).join('');
  return section(title, elements && `<ul class="labels">${elements}</ul>`, language);
}

/** Returns the address, the text about the surroundings, and a link to a map. */
export function where(listing: Listing, language: Language): string {
  const { address, latitude, longitude, location_text: around } = listing;
  const lines = [address && escapeHtml(address), townAndLocation(listing, language)];
  const [at, map] = [`${latitude}/${longitude}`, `mlat=${latitude}&mlon=${longitude}`];
  const url = `https://www.openstreetmap.org/?${map}#map=15/${at}`;
  const hasCoordinates = latitude !== null && longitude !== null;
  const parts = [
    paragraph('address', joinParts(lines, ', ')),
    element('p', around, language),
    paragraph('links', hasCoordinates ? link(url, LABELS.map, language) : ''),
  ];
  return section(LABELS.where, parts.join(''), language);
}

/** Returns links to the video and the financial analysis. */
export function links(listing: Listing, language: Language): string {
  const { video_url: video, financial_analysis_url: analysis } = listing;
  return paragraph(
    'links',
    joinParts([
      video && link(video, LABELS.video, language),
      analysis && link(analysis, LABELS.analysis, language),
    ]),
  );
}

type Labels = Readonly<Record<Language, string>>;

const link = (url: string, label: Labels, language: Language) =>
  `<a href="${escapeHtml(url)}">${label[language]}</a>`;

const paragraph = (name: string, html: string) => html && `<p class="${name}">${html}</p>`;

export const section = (title: Labels, html: string, language: Language) =>
  html && `<section><h2>${title[language]}</h2>\n${html}</section>`;
