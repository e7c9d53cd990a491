/** The page of one listing, with each missing part marked at its place. */

import type { PropsWithChildren } from 'hono/jsx';
import {
  findMissing,
  LANGUAGES,
  type Listing,
  orderPhotos,
  type Photo,
  textIn,
} from './catalogue.ts';
import { counted, formatPlace, formatPrice, formatSize, joined } from './format.ts';
import { Badges, Localized, Marks, Picture, PreviewFrame } from './parts.tsx';
import { formatAddress, type View } from './view.ts';

type Props = { listing: Listing; view: View };

export function ListingPage({ listing, view }: Props) {
  const { slug, name, hid, title, amenities } = listing;
  const features = listing.unique_features.map((each) => ({ ...each, slug: each.icon_slug }));
  const description = textIn(listing.description, view.lang);
  const [hero, ...photos] = orderPhotos(listing);
  const missing = findMissing(listing);
  return (
    <PreviewFrame title={textIn(title, view.lang)?.text ?? name} view={view}>
      <a href={`${formatAddress(view)}#listing-${slug}`}>← Catalogue</a>
      <Badges listing={listing} />
      <h1>
        <Localized map={title} view={view} instead={name} />
      </h1>
      <Marks missing={missing} kind="title" />
      <p>{joined([formatPlace(listing, view), name, hid, slug])}</p>
      <div class="grid columns">
        <div>
          {hero ? <Figure photo={hero} view={view} /> : <Picture photo={null} view={view} />}
          <Marks missing={missing} kind="photo" />
          <span id="not-loaded" hidden />
        </div>
        <Facts listing={listing} view={view} />
      </div>
      <Section title={counted(photos.length, 'more photo')} isEmpty={photos.length === 0}>
        <div class="grid gallery">
          {photos.map((photo) => (
            <Figure photo={photo} view={view} />
          ))}
        </div>
      </Section>
      <Marks missing={missing} kind="alt text" />
      <Section title="About this home" isEmpty={description === undefined}>
        <p class="paragraphs" lang={description?.language}>
          {description?.text}
        </p>
      </Section>
      <Marks missing={missing} kind="description" />
      <Labels title="What sets it apart" view={view} labels={features} />
      <Labels title="Amenities" view={view} labels={amenities} />
    </PreviewFrame>
  );
}

/** The photo leads to itself in full size. */
function Figure({ photo, view }: { photo: Photo; view: View }) {
  const alt = photo.alt[view.lang];
  return (
    <figure>
      <a href={photo.url} aria-label={joined(['Open large', alt ?? null], ': ')}>
        <Picture photo={photo} view={view} />
      </a>
      <figcaption>
        <b>{photo.section?.replaceAll('_', ' ')}</b> <span lang={view.lang}>{alt}</span>
        {!alt && <Marks missing={[`${LANGUAGES[view.lang]} alt text`]} />}
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
  const weeks = weeks_per_year !== null && `${counted(weeks_per_year, 'week')} per year`;
  const isPublic = status !== 'hidden';
  const links = [
    ['Its page on the site', isPublic && listing.url],
    ['Its JSON in the feed', isPublic && `/preview/listings/${slug}/feed.json`],
    ['Video', listing.video_url],
    ['Financial analysis', listing.financial_analysis_url],
  ] as const;
  return (
    <div class="box">
      <Section title="At a glance">
        <b>{formatPrice(listing)}</b>
        <Marks missing={missing} kind="price" />
        <p>
          {joined([formatSize(listing), counted(beds, 'bed'), counted(bathtubs, 'bathtub'), weeks])}
        </p>
        <p class="row">{links.map(([text, url]) => url && <a href={url}>{text}</a>)}</p>
      </Section>
      <Section title="Where it is">
        <p>{joined([address, formatPlace(listing, view)], ', ')}</p>
        <Marks missing={missing} kind="location" />
        <p>
          <Localized map={location_text} view={view} />
        </p>
        {latitude !== null && longitude !== null && (
          <a href={`https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}`}>
            On a map: {latitude.toFixed(4)}, {longitude.toFixed(4)}
          </a>
        )}
      </Section>
    </div>
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
