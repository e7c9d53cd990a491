/** The pages of build-site.ts, as HTML. site.css is their style. */

import { addressOf, languageOf, languagesOf, SITE_NAME } from './addresses.ts';
import {
  amenities,
  badges,
  card,
  escaped,
  facts,
  features,
  type Home,
  type HomeCard,
  heading,
  links,
  picture,
  place,
  plain,
  price,
  section,
  text,
  where,
} from './home-html.ts';
import { jsonLd } from './json-ld.ts';
import { LANGUAGE_NAMES, LANGUAGES, type Language, LOCALES, WORDS } from './words.ts';

const NEIGHBOURS = 3;
const ICON =
  "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><path fill='%230f5c63' d='M8 1 1 7v8h5v-5h4v5h5V7z'/></svg>";

function document(own: Language, title: string, head: string, links: string, body: string): string {
  return `<!doctype html>
<html lang="${own}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(`${title} – ${SITE_NAME}`)}</title>
${head}<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="/site.css">
<header><a href="/${own}/">${escaped(SITE_NAME)}</a>${links}</header>
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
  const shown = languageOf(own, languages);
  const shared: [string, string | undefined][] = [
    ...Object.entries({ type: 'website', site_name: SITE_NAME, locale: LOCALES[shown] }),
    ...languages
      .filter((each) => each !== shown)
      .map((each): [string, string] => ['locale:alternate', LOCALES[each]]),
    ...Object.entries({ url, title, description, image }),
  ];
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
    return `<a lang="${each}" href="/${each}${path}"${current}>${LANGUAGE_NAMES[each]}</a>`;
  });
  const nav = `<nav aria-label="${Object.values(LANGUAGE_NAMES).join(', ')}">${links.join('')}</nav>`;
  return document(own, title, head.join('\n'), nav, body);
}

function cards(homes: readonly HomeCard[], language: Language, tag: 'h2' | 'h3'): string {
  const items = homes.map((home, index) => {
    const loading = tag === 'h2' && index < 3 ? 'eager' : 'lazy';
    const href = `/${language}/listings/${home.slug}`;
    return `<li class="card">${card(home, language, { tag, href, loading })}</li>`;
  });
  return items.length > 0 ? `<ul class="grid">\n${items.join('\n')}\n</ul>` : '';
}

export function listPage(homes: readonly HomeCard[], language: Language): string {
  const title = WORDS.homes[language];
  const body = `<h1>${title}</h1>\n${cards(homes, language, 'h2')}`;
  return page(language, { path: '/', title }, LANGUAGES, body);
}

/** `others` are the homes of the list, among which are the neighbours. */
export function listingPage(home: Home, others: readonly Home[], language: Language): string {
  const { slug, name, title, description, hero_image: hero, gallery, location } = home;
  const path = `/listings/${slug}`;
  const languages = languagesOf(home);
  const photos = gallery
    .filter(({ url }) => url !== hero?.url)
    .map((photo) => picture(photo, language, 'lazy'));
  const neighbours = others.filter(
    (other) => other.slug !== slug && location && other.location?.id === location.id,
  );
  const near = cards(neighbours.slice(0, NEIGHBOURS), language, 'h3');
  const body = [
    heading('h1', home, language),
    place(home, language),
    badges(home, language),
    price(home, language),
    facts(home, language),
    hero ? `<div class="hero">${picture(hero, language, 'eager')}</div>` : '',
    links(home, language),
    text(home, language),
    features(home, language),
    amenities(home, language),
    where(home, language),
    photos.length > 0 ? `<div class="photos">${photos.join('\n')}</div>` : '',
    section(WORDS.neighbours, near, language),
    `<script type="application/ld+json">${jsonLd(home, language, addressOf(path, language, languages))}</script>`,
  ];
  const [summary] = plain(description, language).split('\n');
  const shown = { title: plain(title, language) || name, image: hero?.url };
  return page(
    language,
    { path, ...shown, ...(summary && { description: summary }) },
    languages,
    body.filter(Boolean).join('\n'),
  );
}

export function notFoundPage(): string {
  const [own] = LANGUAGES;
  const parts = LANGUAGES.map((each) => {
    const [open, close] = each === own ? ['<h1>', '</h1>\n<p>'] : [`<p lang="${each}">`, '. '];
    return `${open}${WORDS.noPage[each]}${close}<a href="/${each}/">${WORDS.homes[each]}</a></p>`;
  });
  return document(own, WORDS.noPage[own], '', '', parts.join('\n'));
}
