/** The pages of build-site.ts, as HTML. */

import { addressOf, LANGUAGES, type Language, languagesOf, type Text } from './addresses.ts';
import { jsonLd, type Listing as ListingInSearch } from './json-ld.ts';

export type Listing = ListingInSearch & {
  slug: string;
  hero_image: { url: string; alt: Text } | null;
  location: { name: Text } | null;
};

const HOMES = { en: 'Our homes', es: 'Nuestras casas', fr: 'Nos maisons' };
const STATUSES = {
  listed: null,
  coming_soon: { en: 'Coming soon', es: 'Próximamente', fr: 'Bientôt' },
  sold_out: { en: 'Sold out', es: 'Agotado', fr: 'Épuisé' },
};
const NO_PAGE = { en: 'No such page', es: 'Esta página no existe', fr: 'Cette page n’existe pas' };

/** The language to show: the visitor's, or else the first one that has the text. */
const languageIn = (text: Text, wanted: Language) =>
  [wanted, ...LANGUAGES].find((language) => text[language] !== undefined) ?? wanted;
const plain = (text: Text, wanted: Language) => text[languageIn(text, wanted)] ?? '';
const escaped = (text: string) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/** The text in an element that names its language. */
function element(tag: string, text: Text, wanted: Language): string {
  const lines = escaped(plain(text, wanted)).replaceAll('\n', '<br>');
  return lines && `<${tag} lang="${languageIn(text, wanted)}">${lines}</${tag}>`;
}

/** The parts that a card and the page of a listing share. */
function parts({ title, name, hero_image, location, ...listing }: Listing, language: Language) {
  const { status, price_from: price } = listing;
  const src = escaped(hero_image?.url ?? '');
  const fact = STATUSES[status]?.[language] ?? price?.toLocaleString(language);
  return {
    image: hero_image ? `<img src="${src}" alt="${escaped(plain(hero_image.alt, language))}">` : '',
    heading: (tag: string) => element(tag, title, language) || `<${tag}>${escaped(name)}</${tag}>`,
    facts: (location ? element('p', location.name, language) : '') + (fact ? `<p>${fact}</p>` : ''),
  };
}

function document(language: Language, title: string, head: string, body: string): string {
  return `<!doctype html>
<html lang="${language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
${head}<style>img { max-width: 100%; }</style>
${body}
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
  const links = LANGUAGES.map((each) => `<a lang="${each}" href="/${each}${path}">${each}</a>`);
  return document(own, title, head.join('\n'), `<nav>${links.join(' ')}</nav>\n${body}`);
}

export function listPage(listings: Listing[], language: Language): string {
  const cards = listings.map((listing) => {
    const { image, heading, facts } = parts(listing, language);
    return `<a href="/${language}/listings/${listing.slug}">${image}${heading('h2')}${facts}</a>`;
  });
  const body = [`<h1>${HOMES[language]}</h1>`, ...cards].join('\n');
  return page(language, { path: '/', title: HOMES[language] }, LANGUAGES, body);
}

export function listingPage(listing: Listing, language: Language): string {
  const { slug, name, title, description, hero_image } = listing;
  const path = `/listings/${slug}`;
  const languages = languagesOf(listing);
  const { image, heading, facts } = parts(listing, language);
  const body = `<a href="/${language}/">${HOMES[language]}</a>
${heading('h1')}${image}${facts}${element('div', description, language)}
<script type="application/ld+json">${jsonLd(listing, language, addressOf(path, language, languages))}</script>`;
  const [summary] = plain(description, language).split('\n');
  const shown = { title: plain(title, language) || name, image: hero_image?.url };
  return page(
    language,
    { path, ...shown, ...(summary && { description: summary }) },
    languages,
    body,
  );
}

export function notFoundPage(): string {
  const links = LANGUAGES.map(
    (each) => `<p lang="${each}">${NO_PAGE[each]}: <a href="/${each}/">${HOMES[each]}</a>`,
  );
  return document(LANGUAGES[0], NO_PAGE[LANGUAGES[0]], '', links.join('\n'));
}
