/** Renders the pages of build-site.ts as HTML. Their style sheet is site.css. */

import { chooseLanguage, listLanguages, makeAddress, SITE_NAME } from './addresses.ts';
import { jsonLd } from './json-ld.ts';
import {
  amenities,
  badges,
  card,
  escapeHtml,
  facts,
  features,
  heading,
  type Listing,
  type ListingCard,
  links,
  pickText,
  picture,
  place,
  price,
  section,
  text,
  where,
} from './listing-html.ts';
import { LABELS, LANGUAGE_NAMES, LANGUAGES, type Language, LOCALES } from './translations.ts';

const NEIGHBOURS = 3;
const ICON =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><path fill='%230f5c63' d='M8 1 1 7v8h5v-5h4v5h5V7z'/></svg>";

function document(
  language: Language,
  title: string,
  head: string,
  links: string,
  body: string,
): string {
  return `<!doctype html>
<html lang="${language}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(`${title} – ${SITE_NAME}`)}</title>
${head}<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="/site.css">
<header><a href="/${language}/">${escapeHtml(SITE_NAME)}</a>${links}</header>
<main>
${body}
</main>
`;
}

type Page = { path: string; title: string; description?: string; image?: string | undefined };

/** Returns a page with links to its other languages and metadata for social media. */
function page(
  language: Language,
  properties: Page,
  languages: readonly Language[],
  body: string,
): string {
  const { path, title, description = title, image } = properties;
  const url = makeAddress(path, language, languages);
  const textLanguage = chooseLanguage(language, languages);
  const shared: [string, string | undefined][] = [
    ...Object.entries({ type: 'website', site_name: SITE_NAME, locale: LOCALES[textLanguage] }),
    ...languages
      .filter((alternate) => alternate !== textLanguage)
      .map((alternate): [string, string] => ['locale:alternate', LOCALES[alternate]]),
    ...Object.entries({ url, title, description, image }),
  ];
  const head = [
    `<meta name="description" content="${escapeHtml(description)}">`,
    `<link rel="canonical" href="${url}">`,
    ...[...languages, 'x-default'].map(
      (alternate) =>
        `<link rel="alternate" hreflang="${alternate}" href="${makeAddress(path, alternate, languages)}">`,
    ),
    ...shared.flatMap(([name, text]) =>
      text ? [`<meta property="og:${name}" content="${escapeHtml(text)}">`] : [],
    ),
    '',
  ];
  const links = LANGUAGES.map((target) => {
    const current = target === language ? ' aria-current="page"' : '';
    return `<a lang="${target}" href="/${target}${path}"${current}>${LANGUAGE_NAMES[target]}</a>`;
  });
  const nav = `<nav aria-label="${Object.values(LANGUAGE_NAMES).join(', ')}">${links.join('')}</nav>`;
  return document(language, title, head.join('\n'), nav, body);
}

function cards(listings: readonly ListingCard[], language: Language, tag: 'h2' | 'h3'): string {
  const items = listings.map((listing, index) => {
    const loading = tag === 'h2' && index < 3 ? 'eager' : 'lazy';
    const href = `/${language}/listings/${listing.slug}`;
    return `<li class="card">${card(listing, language, { tag, href, loading })}</li>`;
  });
  return items.length > 0 ? `<ul class="grid">\n${items.join('\n')}\n</ul>` : '';
}

export function listPage(listings: readonly ListingCard[], language: Language): string {
  const title = LABELS.listings[language];
  const body = `<h1>${title}</h1>\n${cards(listings, language, 'h2')}`;
  return page(language, { path: '/', title }, LANGUAGES, body);
}

/** Returns the page of a listing, with links to up to three of `others` in the same location. */
export function listingPage(
  listing: Listing,
  others: readonly Listing[],
  language: Language,
): string {
  const { slug, name, title, description, hero_image: hero, gallery, location } = listing;
  const path = `/listings/${slug}`;
  const languages = listLanguages(listing);
  const photos = gallery
    .filter(({ url }) => url !== hero?.url)
    .map((photo) => picture(photo, language, 'lazy'));
  const neighbours = others.filter(
    (other) => other.slug !== slug && location && other.location?.id === location.id,
  );
  const near = cards(neighbours.slice(0, NEIGHBOURS), language, 'h3');
  const body = [
    heading('h1', listing, language),
    place(listing, language),
    badges(listing, language),
    price(listing, language),
    facts(listing, language),
    hero ? `<div class="hero">${picture(hero, language, 'eager')}</div>` : '',
    links(listing, language),
    text(listing, language),
    features(listing, language),
    amenities(listing, language),
    where(listing, language),
    photos.length > 0 ? `<div class="photos">${photos.join('\n')}</div>` : '',
    section(LABELS.neighbours, near, language),
    `<script type="application/ld+json">${jsonLd(listing, language, makeAddress(path, language, languages))}</script>`,
  ];
  const [summary] = pickText(description, language).split('\n');
  const shared = { title: pickText(title, language) || name, image: hero?.url };
  return page(
    language,
    { path, ...shared, ...(summary && { description: summary }) },
    languages,
    body.filter(Boolean).join('\n'),
  );
}

export function notFoundPage(): string {
  const [first] = LANGUAGES;
  const parts = LANGUAGES.map((language) => {
    const [open, close] =
      language === first ? ['<h1>', '</h1>\n<p>'] : [`<p lang="${language}">`, '. '];
    return `${open}${LABELS.noPage[language]}${close}<a href="/${language}/">${LABELS.listings[language]}</a></p>`;
  });
  return document(first, LABELS.noPage[first], '', '', parts.join('\n'));
}
