/** The page of one listing, with each missing part marked at its place. */

import type { PropsWithChildren } from 'hono/jsx';
import { findMissing, type Listing, orderPhotos, type Photo } from '../../properties/missing.ts';
import { textIn } from './catalogue.ts';
import { formatCount, formatPlace, formatPrice, formatSize, joined } from './format.ts';
import { Badges, Localized, Marks, Picture, PreviewFrame } from './parts.tsx';
import { formatAddress, type View } from './view.ts';
import { WORDS } from './words.ts';

type Props = { listing: Listing; view: View };

export function ListingPage({ listing, view }: Props) {
  const { slug, name, hid, title, amenities } = listing;
  const features = listing.unique_features.map((each) => ({ ...each, slug: each.icon_slug }));
  const description = textIn(listing.description, view.lang);
  const [hero, ...photos] = orderPhotos(listing);
  const missing = findMissing(listing);
  return (
    <PreviewFrame title={textIn(title, view.lang)?.text ?? name} view={view}>
      <a href={`${formatAddress(view)}#listing-${slug}`}>← {WORDS.catalogue}</a>
      <Badges listing={listing} />
      <h1>
        <Localized map={title} view={view} instead={name} />
      </h1>
      <Marks missing={missing} kinds={['title']} />
      <p>{joined([formatPlace(listing, view), name, hid, slug])}</p>
      <div class="grid columns">
        <div>
          {hero ? <Figure photo={hero} view={view} /> : <Picture photo={null} view={view} />}
          <Marks missing={missing} kinds={['photo', 'cover photo']} />
          <span id="not-loaded" hidden />
        </div>
        <Facts listing={listing} view={view} />
      </div>
      <Section title={formatCount(photos.length, 'morePhotos')} isEmpty={photos.length === 0}>
        <div class="grid gallery">
          {photos.map((photo) => (
            <Figure photo={photo} view={view} />
          ))}
        </div>
      </Section>
      {/* Those of this language are marked at their photos. */}
      <Marks
        missing={missing.filter(({ language }) => language !== view.lang)}
        kinds={['alt text']}
      />
      <Section title={WORDS.about} isEmpty={description === undefined}>
        <p class="paragraphs" lang={description?.language}>
          {description?.text}
        </p>
      </Section>
      <Marks missing={missing} kinds={['description']} />
      <Labels title={WORDS.features} view={view} labels={features} />
      <Labels title={WORDS.amenities} view={view} labels={amenities} />
    </PreviewFrame>
  );
}

/** The photo leads to itself in full size. */
function Figure({ photo, view }: { photo: Photo; view: View }) {
  const alt = photo.alt[view.lang];
  const { openLarge, without, inLanguage } = WORDS;
  return (
    <figure>
      <a href={photo.url} aria-label={joined([openLarge, alt ?? null], ': ')}>
        <Picture photo={photo} view={view} />
      </a>
      <figcaption>
        <b>{photo.section?.replaceAll('_', ' ')}</b> <span lang={view.lang}>{alt}</span>
        {!alt && (
          <span class="mark">
            {without['alt text']} {inLanguage[view.lang]}
          </span>
        )}
      </figcaption>
    </figure>
  );
}

type LabelsProps = { title: string; view: View; labels: Listing['amenities'] };

function Labels({ title, view, labels }: LabelsProps) {
  return (
    <Section title={title} isEmpty={labels.length === 0}>
      <ul class="row">
        {labels.map(({ slug, label }) => (
          <li class="badge">
            <Localized map={label} view={view} instead={slug} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function Facts({ listing, view }: Props) {
  const { slug, status, beds, bathtubs, weeks_per_year } = listing;
  const { address, location_text, latitude, longitude } = listing;
  const missing = findMissing(listing);
  const weeks =
    weeks_per_year !== null && `${formatCount(weeks_per_year, 'weeks')} ${WORDS.perYear}`;
  const isPublic = status !== 'hidden';
  const links = [
    [WORDS.itsPage, isPublic && listing.url],
    [WORDS.itsJson, isPublic && `/preview/listings/${slug}/feed.json`],
    [WORDS.video, listing.video_url],
    [WORDS.financialAnalysis, listing.financial_analysis_url],
  ] as const;
  return (
    <div class="box">
      <Section title={WORDS.atAGlance}>
        <b>{formatPrice(listing)}</b>
        <Marks missing={missing} kinds={['price']} />
        <p>
          {joined([
            formatSize(listing),
            formatCount(beds, 'beds'),
            formatCount(bathtubs, 'bathtubs'),
            weeks,
          ])}
        </p>
        <p class="row">{links.map(([text, url]) => url && <a href={url}>{text}</a>)}</p>
      </Section>
      <Section title={WORDS.whereItIs}>
        <p>{joined([address, formatPlace(listing, view)], ', ')}</p>
        <Marks missing={missing} kinds={['location']} />
        <p>
          <Localized map={location_text} view={view} />
        </p>
        {latitude !== null && longitude !== null && (
          <a href={`https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}`}>
            {WORDS.onAMap}: {latitude.toFixed(4)}, {longitude.toFixed(4)}
          </a>
        )}
      </Section>
    </div>
  );
}

/** The page of a slug that no listing has. */
export function NoListing({ slug, view }: { slug: string; view: View }) {
  const { noSuchListing, toCatalogue } = WORDS;
  return (
    <PreviewFrame title={slug} view={view}>
      <h1>
        {noSuchListing} <code>{slug}</code>
      </h1>
      <a href={formatAddress(view)}>{toCatalogue}</a>
    </PreviewFrame>
  );
}

type SectionProps = PropsWithChildren<{ title: string; isEmpty?: boolean }>;

function Section({ title, isEmpty = false, children }: SectionProps) {
  if (isEmpty) return null;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}
