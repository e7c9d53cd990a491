/** Renders a listing like the example site, and marks its missing parts. */

import { raw } from 'hono/html';
import * as site from '../../../docs/examples/listing-html.ts';
import type { Language } from '../../../docs/examples/translations.ts';
import { findMissing, type Listing, orderPhotos, type Photo } from './missing.ts';
import { formatPart, HiddenMark, Marks, PreviewFrame } from './parts.tsx';
import { formatAddress, type View } from './view.ts';

type Props = { listing: Listing; view: View };

export function ListingPage({ listing, view }: Props) {
  const { slug, name, title } = listing;
  const { lang } = view;
  const [hero, ...photos] = orderPhotos(listing);
  const missing = findMissing(listing);
  return (
    <PreviewFrame title={site.pickText(title, lang) || name} view={view}>
      <a href={`${formatAddress(view)}#listing-${slug}`}>← Catalogue</a>
      <SitePart html={site.heading('h1', listing, lang)} lang={lang} />
      <Marks missing={missing} kinds={['title']} />
      <SitePart html={site.place(listing, lang) + site.badges(listing, lang)} lang={lang} />
      <EditorsLine listing={listing} />
      <SitePart html={site.price(listing, lang)} lang={lang} />
      <Marks missing={missing} kinds={['price']} />
      <SitePart html={site.facts(listing, lang)} lang={lang} />
      <div class="hero">{hero && <Figure photo={hero} lang={lang} />}</div>
      <Marks missing={missing} kinds={['photo', 'cover photo']} />
      <span id="not-loaded" hidden />
      <SitePart html={site.links(listing, lang)} lang={lang} />
      <SitePart html={site.text(listing, lang)} lang={lang} />
      <Marks missing={missing} kinds={['description']} />
      <SitePart html={site.features(listing, lang) + site.amenities(listing, lang)} lang={lang} />
      <SitePart html={site.where(listing, lang)} lang={lang} />
      <Marks missing={missing} kinds={['location']} />
      <div class="photos">
        {photos.map((photo) => (
          <Figure photo={photo} lang={lang} />
        ))}
      </div>
      {/* Alt texts that are missing in this language are marked at their photos. */}
      <Marks missing={missing.filter(({ language }) => language !== lang)} kinds={['alt text']} />
    </PreviewFrame>
  );
}

type SitePartProps = { html: string; lang: Language };

/** Renders a part of the example site. Its labels are in the language `lang`. */
function SitePart({ html, lang }: SitePartProps) {
  return (
    <div class="listing" lang={lang}>
      {raw(html)}
    </div>
  );
}

/** Renders a line for editors with the listing's names, status and links. */
function EditorsLine({ listing }: { listing: Listing }) {
  const { slug, name, hid, status, url } = listing;
  return (
    <p class="row">
      <span>{[name, hid, slug].filter(Boolean).join(' · ')}</span>
      <HiddenMark listing={listing} />
      {status !== 'hidden' && (
        <>
          <a href={url}>Its page on the site</a>
          <a href={`/preview/listings/${slug}/feed.json`}>Its JSON in the feed</a>
        </>
      )}
    </p>
  );
}

/** Renders a photo that links to its full-size version. */
function Figure({ photo, lang }: { photo: Photo; lang: Language }) {
  const alt = photo.alt[lang];
  return (
    <figure>
      <a href={photo.url} aria-label={`Open large ${alt ?? ''}`}>
        {raw(site.picture(photo, lang, 'lazy'))}
      </a>
      <figcaption>
        <b>{photo.section?.replaceAll('_', ' ')}</b> <span lang={lang}>{alt}</span>
        {alt === undefined && (
          <span class="mark">{formatPart({ kind: 'alt text', language: lang })}</span>
        )}
      </figcaption>
    </figure>
  );
}

/** Renders the page for an unknown slug. */
export function NoListing({ slug, view }: { slug: string; view: View }) {
  return (
    <PreviewFrame title={slug} view={view}>
      <h1>
        There is no listing with the slug <code>{slug}</code>
      </h1>
      <a href={formatAddress(view)}>Show the catalogue</a>
    </PreviewFrame>
  );
}
