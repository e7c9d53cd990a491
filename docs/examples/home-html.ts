/**
 * How a home is shown, as HTML: the parts of its card and of its page. `npm run dev` shows its
 * preview with these functions too. A part that the home lacks is an empty text.
 */

import {
  type CountedField,
  CURRENCY,
  LANGUAGES,
  type Language,
  NOUNS,
  STATUSES,
  type Text,
  TYPES,
  WORDS,
} from './words.ts';

export type Photo = { readonly url: string; readonly alt: Text };

/** The fields of a card of the feed that are shown. */
export type HomeCard = {
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
  /** Only a whole listing has it. */
  weeks_per_year?: number | null;
};

/** The fields of a listing of the feed that are shown. */
export type Home = HomeCard & {
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

/** The language to show: the visitor's, or else the first one that has the text. */
export const languageIn = (text: Text, wanted: Language) =>
  [wanted, ...LANGUAGES].find((language) => text[language] !== undefined) ?? wanted;

export const plain = (text: Text, wanted: Language) => text[languageIn(text, wanted)] ?? '';

export const escaped = (text: string) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/** The text in an element that names its language. */
const element = (tag: string, text: Text, wanted: Language) =>
  plain(text, wanted) &&
  `<${tag} lang="${languageIn(text, wanted)}">${escaped(plain(text, wanted))}</${tag}>`;

const joined = (texts: readonly (string | false | null | undefined)[], separator = ' · ') =>
  texts.filter(Boolean).join(separator);

/** A box of the stylesheet's shape. Only the first pictures of a page are loaded at once. */
export const picture = ({ url, alt }: Photo, language: Language, loading: 'eager' | 'lazy') =>
  `<img src="${escaped(url)}" alt="${escaped(plain(alt, language))}" lang="${languageIn(alt, language)}" width="800" height="600" loading="${loading}">`;

export const heading = (tag: string, { title, name }: HomeCard, language: Language) =>
  element(tag, title, language) || `<${tag}>${escaped(name)}</${tag}>`;

/** Town and location: Deià, Mallorca. */
function whereabouts({ city, location }: HomeCard, language: Language): string {
  const name = location?.name ?? {};
  const town = city === plain(name, language) ? null : city;
  return joined([town && escaped(town), element('span', name, language)], ', ');
}

export const place = (home: HomeCard, language: Language) =>
  paragraph('place', whereabouts(home, language));

export function badges({ status, is_early_access: isEarly }: HomeCard, language: Language): string {
  const words = [STATUSES[status]?.[language], isEarly && WORDS.earlyAccess[language]];
  const found = words.map((each) => each && `<span class="badge">${each}</span>`);
  return paragraph('badges', joined(found, ' '));
}

/** What is bought: share of 1/8 · 6 weeks a year. */
export function share({ fraction_from, weeks_per_year }: HomeCard, language: Language): string {
  const fraction = fraction_from && `${WORDS.share[language]} ${fraction_from}`;
  return joined([fraction, counted('weeks_per_year', weeks_per_year, language)]);
}

/** The price of a share, and the share: From €289,000 · share of 1/8. */
export function price(home: HomeCard, language: Language): string {
  const money = { style: 'currency', currency: CURRENCY, maximumFractionDigits: 0 } as const;
  const amount = home.price_from?.toLocaleString(language, money);
  const text = joined([amount && `${WORDS.from[language]} ${amount}`, share(home, language)]);
  return paragraph('price', escaped(text));
}

type FactField = Exclude<CountedField, 'weeks_per_year'>;
type Facts = Pick<HomeCard, 'type'> & { readonly [F in FactField]?: number | null };

/** The type and the counts of a home: Beach · 4 bedrooms. */
export function facts(home: Facts, language: Language, fields = FACTS): string {
  const counts = fields.map((field) => counted(field, home[field], language));
  return paragraph('facts', joined([TYPES[home.type ?? '']?.[language], ...counts]));
}

const FACTS: FactField[] = ['bedrooms', 'beds', 'bathrooms', 'bathtubs', 'capacity', 'size'];
const FACTS_OF_CARD: FactField[] = ['bedrooms', 'bathrooms', 'capacity', 'size'];

/** A number with its noun: 4 bedrooms. */
function counted(field: CountedField, value: number | null | undefined, language: Language) {
  if (!value) return null;
  const [one, several] = NOUNS[field][language];
  const noun = new Intl.PluralRules(language).select(value) === 'one' ? one : several;
  return `${value.toLocaleString(language)}\u00a0${noun}`;
}

type Link = { tag: 'h2' | 'h3'; href: string; loading: 'eager' | 'lazy' };

/** A card whose link is its heading. */
export function card(home: HomeCard, language: Language, { tag, href, loading }: Link): string {
  const { hero_image: photo } = home;
  return `${photo ? picture(photo, language, loading) : ''}
<div><a href="${escaped(href)}">${heading(tag, home, language)}</a>${place(home, language)}${badges(home, language)}${facts(home, language, FACTS_OF_CARD)}${price(home, language)}</div>`;
}

/** A blank line separates paragraphs. */
export function text({ description }: Home, language: Language): string {
  const paragraphs = plain(description, language).match(/.+(\n.+)*/g) ?? [];
  const elements = paragraphs.map((each) => `<p>${escaped(each).replaceAll('\n', '<br>')}</p>`);
  const lang = languageIn(description, language);
  return elements.length > 0 ? `<div class="text" lang="${lang}">${elements.join('\n')}</div>` : '';
}

export const features = (home: Home, language: Language) =>
  labels(WORDS.features, home.unique_features, language);
export const amenities = (home: Home, language: Language) =>
  labels(WORDS.amenities, home.amenities, language);

function labels(title: Words, items: readonly { label: Text }[], language: Language): string {
  const elements = items.map(({ label }) => element('li', label, language)).join('');
  return section(title, elements && `<ul class="labels">${elements}</ul>`, language);
}

/** The address, what is around it, and a map. */
export function where(home: Home, language: Language): string {
  const { address, latitude, longitude, location_text: around } = home;
  const lines = [address && escaped(address), whereabouts(home, language)];
  const [at, map] = [`${latitude}/${longitude}`, `mlat=${latitude}&mlon=${longitude}`];
  const url = `https://www.openstreetmap.org/?${map}#map=15/${at}`;
  const isKnown = latitude !== null && longitude !== null;
  const parts = [
    paragraph('address', joined(lines, ', ')),
    element('p', around, language),
    paragraph('links', isKnown ? link(url, WORDS.map, language) : ''),
  ];
  return section(WORDS.where, parts.join(''), language);
}

/** The video and the financial analysis. */
export function links(home: Home, language: Language): string {
  const { video_url: video, financial_analysis_url: analysis } = home;
  return paragraph(
    'links',
    joined([
      video && link(video, WORDS.video, language),
      analysis && link(analysis, WORDS.analysis, language),
    ]),
  );
}

type Words = Readonly<Record<Language, string>>;

const link = (url: string, words: Words, language: Language) =>
  `<a href="${escaped(url)}">${words[language]}</a>`;

const paragraph = (name: string, html: string) => html && `<p class="${name}">${html}</p>`;

export const section = (title: Words, html: string, language: Language) =>
  html && `<section><h2>${title[language]}</h2>\n${html}</section>`;
