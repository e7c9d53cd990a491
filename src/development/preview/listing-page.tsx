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
import {
  Badges,
  counted,
  formatPlace,
  formatPrice,
  formatSize,
  joined,
  Localized,
  Marks,
  MissingBox,
  Picture,
  PreviewFrame,
} from './parts.tsx';
import { formatAddress, type View } from './view.ts';

type Props = { listing: Listing; view: View };

export function ListingPage({ listing, view }: Props) {
  const { slug, name, hid, title, amenities } = listing;
  const features = listing.unique_features.map((each) => ({ ...each, slug: each.icon_slug }));
  const [hero, ...photos] = orderPhotos(listing);
  const missing = findMissing(listing);
  return (
    <PreviewFrame title={textIn(title, view.lang)?.text ?? name} view={view}>
      <a href={`${formatAddress(view)}#listing-${slug}`}>← Catalogue</a>
      <Badges listing={listing} />
      <h1>
        <Localized map={title} view={view} instead={name} />
      </h1>
      <MissingOf part="title" listing={listing} />
      <p>{joined([formatPlace(listing, view), name, hid, slug])}</p>
      <div class="grid columns">
        <div>
          {hero ? <Figure photo={hero} view={view} /> : <div class="picture" />}
          <MissingOf part="photo" listing={listing} />
        </div>
        <div class="box">
          <Facts listing={listing} view={view} />
          <Place listing={listing} view={view} />
        </div>
      </div>
      <MissingBox
        length={missing.length}
        summary={`${counted(missing.length, 'part')} of this listing`}
      >
        <Marks missing={missing} />
      </MissingBox>
      {photos.length > 0 && (
        <Section title={counted(photos.length, 'more photo')}>
          <div class="grid gallery">
            {photos.map((photo) => (
              <Figure photo={photo} view={view} />
            ))}
          </div>
        </Section>
      )}
      <Description listing={listing} view={view} />
      <Labels title="What sets it apart" view={view} labels={features} />
      <Labels title="Amenities" view={view} labels={amenities} />
    </PreviewFrame>
  );
}

/** Marks what is missing of one kind, in any language. */
function MissingOf({ part, listing }: { part: string; listing: Listing }) {
  return <Marks missing={findMissing(listing).filter((name) => name.endsWith(part))} />;
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

function Description({ listing, view }: Props) {
  const found = textIn(listing.description, view.lang);
  return (
    <>
      {found && (
        <Section title="About this home">
          <p class="paragraphs" lang={found.language}>
            {found.text}
          </p>
        </Section>
      )}
      <MissingOf part="description" listing={listing} />
    </>
  );
}

type LabelsProps = { title: string; view: View; labels: Listing['amenities'] };

function Labels({ title, view, labels }: LabelsProps) {
  if (labels.length === 0) return null;
  return (
    <Section title={title}>
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

function Facts({ listing }: Props) {
  const { slug, status, beds, bathtubs, weeks_per_year } = listing;
  const isPublic = status !== 'hidden';
  const links = [
    ['Its page on the site', isPublic && listing.url],
    ['Its JSON in the feed', isPublic && `/preview/listings/${slug}/feed.json`],
    ['Video', listing.video_url],
    ['Financial analysis', listing.financial_analysis_url],
  ] as const;
  return (
    <Section title="At a glance">
      <b>{formatPrice(listing)}</b>
      <MissingOf part="price" listing={listing} />
      <p>
        {joined([
          formatSize(listing),
          beds !== null && counted(beds, 'bed'),
          bathtubs !== null && counted(bathtubs, 'bathtub'),
          weeks_per_year !== null && `${counted(weeks_per_year, 'week')} per year`,
        ])}
      </p>
      <p class="row">{links.map(([text, url]) => url && <a href={url}>{text}</a>)}</p>
    </Section>
  );
}

function Place({ listing, view }: Props) {
  const { address, location_text, latitude, longitude } = listing;
  return (
    <Section title="Where it is">
      <p>{joined([address, formatPlace(listing, view)], ', ')}</p>
      <MissingOf part="location" listing={listing} />
      {textIn(location_text, view.lang) && (
        <p>
          <Localized map={location_text} view={view} />
        </p>
      )}
      {latitude !== null && longitude !== null && (
        <a href={`https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}`}>
          On a map: {latitude.toFixed(4)}, {longitude.toFixed(4)}
        </a>
      )}
    </Section>
  );
}

function Section({ title, children }: PropsWithChildren<{ title: string }>) {
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}
