/** The pages of build-site.ts, as HTML. site.css is their style. */

import { addressOf, LANGUAGES, type Language, languagesOf, type Text } from './addresses.ts';
import { CURRENCY, jsonLd, type Listing as ListingInSearch } from './json-ld.ts';

type Photo = { url: string; alt: Text };
export type Listing = Omit<ListingInSearch, 'gallery'> & {
  slug: string;
  hero_image: Photo | null;
  gallery: Photo[];
  location: { name: Text } | null;
  size: number | null;
};

const NAMES = { en: 'English', es: 'Español', fr: 'Français' };
const HOMES = { en: 'Our homes', es: 'Nuestras casas', fr: 'Nos maisons' };
const STATUSES = {
  listed: null,
  coming_soon: { en: 'Coming soon', es: 'Próximamente', fr: 'Bientôt' },
  sold_out: { en: 'Sold out', es: 'Agotado', fr: 'Épuisé' },
};
const FROM = { en: 'From', es: 'Desde', fr: 'À partir de' };
const FACTS = {
  bedrooms: { en: 'Bedrooms', es: 'Dormitorios', fr: 'Chambres' },
  capacity: { en: 'Guests', es: 'Huéspedes', fr: 'Personnes' },
  size: { en: 'Square metres', es: 'Metros cuadrados', fr: 'Mètres carrés' },
};
const NO_PAGE = { en: 'No such page', es: 'Esta página no existe', fr: 'Cette page n’existe pas' };
const ICON =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><path fill='%230f5c63' d='M8 1 1 7v8h5v-5h4v5h5V7z'/></svg>";

/** The language to show: the visitor's, or else the first one that has the text. */
const languageIn = (text: Text, wanted: Language) =>
  [wanted, ...LANGUAGES].find((language) => text[language] !== undefined) ?? wanted;
const plain = (text: Text, wanted: Language) => text[languageIn(text, wanted)] ?? '';
const escaped = (text: string) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/** The text in an element that names its language. */
const element = (tag: string, text: Text, wanted: Language) =>
  plain(text, wanted) &&
  `<${tag} lang="${languageIn(text, wanted)}">${escaped(plain(text, wanted))}</${tag}>`;

/** A box of the stylesheet's shape. Only the first picture of a page is loaded at once. */
const picture = ({ url, alt }: Photo, language: Language, loading: 'eager' | 'lazy') =>
  `<img src="${escaped(url)}" alt="${escaped(plain(alt, language))}" width="800" height="600" loading="${loading}">`;

/** The parts that a card and the page of a listing share. */
function parts({ title, name, location, status, price_from: price }: Listing, own: Language) {
  const money = { style: 'currency', currency: CURRENCY, maximumFractionDigits: 0 } as const;
  const badge = STATUSES[status]?.[own];
  return {
    heading: (tag: string) => element(tag, title, own) || `<${tag}>${escaped(name)}</${tag}>`,
    place: location ? `<p class="place">${element('span', location.name, own)}</p>` : '',
    badge: badge ? `<p class="badge">${badge}</p>` : '',
    price: price === null ? '' : price.toLocaleString(own, money),
  };
}

function document(own: Language, title: string, head: string, links: string, body: string): string {
  return `<!doctype html>
<html lang="${own}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
${head}<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="/site.css">
<header><a href="/${own}/">${HOMES[own]}</a>${links}</header>
<main>
${body}
</main>
`;
}

type Page = { path: string; title: string; description?: string; image?: string | undefined };

/** A page that says where it is in each language, and how it looks where somebody shares it. */
function page(own: Language, of: Page, languages: readonly Language[], body: string): string {
  const { path, title, description = title, image } = of;
  const url = addressOf(path, own, languages);
  const shared = Object.entries({ type: 'website', url, title, description, image });
  const head = [
    `<meta name="description" content="${escaped(description)}">`,
    `<link rel="canonical" href="${url}">`,
    ...[...languages, 'x-default'].map(
      (each) =>
        `<link rel="alternate" hreflang="${each}" href="${addressOf(path, each, languages)}">`,
    ),
    ...shared.flatMap(([name, text]) =>
      text ? [`<meta property="og:${name}" content="${escaped(text)}">`] : [],
    ),
    '',
  ];
  const links = LANGUAGES.map((each) => {
    const current = each === own ? ' aria-current="page"' : '';
    return `<a lang="${each}" href="/${each}${path}"${current}>${NAMES[each]}</a>`;
  });
  const nav = `<nav aria-label="${Object.values(NAMES).join(', ')}">${links.join('')}</nav>`;
  return document(own, title, head.join('\n'), nav, body);
}

export function listPage(listings: Listing[], language: Language): string {
  const cards = listings.map((listing, index) => {
    const { heading, place, badge, price } = parts(listing, language);
    const { slug, hero_image: photo } = listing;
    return `<article class="card">${photo ? picture(photo, language, index < 3 ? 'eager' : 'lazy') : ''}
<div><a href="/${language}/listings/${slug}">${heading('h2')}</a>${place}${badge}${price && `<p>${FROM[language]} ${price}</p>`}</div></article>`;
  });
  const body = [`<h1>${HOMES[language]}</h1>`, '<div class="grid">', ...cards, '</div>'];
  return page(language, { path: '/', title: HOMES[language] }, LANGUAGES, body.join('\n'));
}

export function listingPage(listing: Listing, language: Language): string {
  const { slug, name, title, description, hero_image: hero, gallery } = listing;
  const path = `/listings/${slug}`;
  const languages = languagesOf(listing);
  const { heading, place, badge, price } = parts(listing, language);
  const facts = Object.entries(FACTS).map(([field, label]) => {
    const value = listing[field as keyof typeof FACTS];
    return value === null ? '' : `<div><dt>${label[language]}</dt><dd>${value}</dd></div>`;
  });
  if (price) facts.push(`<div><dt>${FROM[language]}</dt><dd>${price}</dd></div>`);
  const paragraphs = plain(description, language).match(/.+(\n.+)*/g) ?? [];
  const text = paragraphs
    .map((paragraph) => `<p>${escaped(paragraph).replaceAll('\n', '<br>')}</p>`)
    .join('\n');
  const others = gallery.filter(({ url }) => url !== hero?.url);
  const body = `${heading('h1')}${place}${badge}
${hero ? `<div class="hero">${picture(hero, language, 'eager')}</div>` : ''}
<dl>${facts.join('')}</dl>
${text ? `<div class="text" lang="${languageIn(description, language)}">${text}</div>` : ''}
<div class="grid">${others.map((photo) => picture(photo, language, 'lazy')).join('\n')}</div>
<script type="application/ld+json">${jsonLd(listing, language, addressOf(path, language, languages))}</script>`;
  const [summary] = plain(description, language).split('\n');
  const shown = { title: plain(title, language) || name, image: hero?.url };
  return page(
    language,
    { path, ...shown, ...(summary && { description: summary }) },
    languages,
    body,
  );
}

export function notFoundPage(): string {
  const [own] = LANGUAGES;
  const parts = LANGUAGES.map((each) => {
    const [open, close] = each === own ? ['<h1>', '</h1>\n<p>'] : [`<p lang="${each}">`, '. '];
    return `${open}${NO_PAGE[each]}${close}<a href="/${each}/">${HOMES[each]}</a></p>`;
  });
  return document(own, NO_PAGE[own], '', '', parts.join('\n'));
}
