/** The texts of the documents, by their paths in the repository, in the order of their index. */

import changelog from '../../../CHANGELOG.md';
import contributing from '../../../CONTRIBUTING.md';
import architecture from '../../../docs/explain/architecture.md';
import conformance from '../../../docs/explain/conformance.md';
import dependencies from '../../../docs/explain/dependencies.md';
import formats from '../../../docs/explain/formats.md';
import performance from '../../../docs/explain/performance.md';
import simulation from '../../../docs/explain/simulation.md';
import threatModel from '../../../docs/explain/threat-model.md';
import apps from '../../../docs/guides/apps.md';
import buildHook from '../../../docs/guides/build-hook.md';
import buildingASite from '../../../docs/guides/building-a-site.md';
import caches from '../../../docs/guides/caches.md';
import listingsFile from '../../../docs/guides/listings-file.md';
import quickstart from '../../../docs/guides/quickstart.md';
import sendingEvents from '../../../docs/guides/sending-events.md';
import siteRecipes from '../../../docs/guides/site-recipes.md';
import stayingInSync from '../../../docs/guides/staying-in-sync.md';
import typedClient from '../../../docs/guides/typed-client.md';
import cost from '../../../docs/operate/cost.md';
import erasure from '../../../docs/operate/erasure.md';
import faults from '../../../docs/operate/faults.md';
import growing from '../../../docs/operate/growing.md';
import keys from '../../../docs/operate/keys.md';
import operations from '../../../docs/operate/operations.md';
import readingTheLog from '../../../docs/operate/reading-the-log.md';
import runbook from '../../../docs/operate/runbook.md';
import index from '../../../docs/README.md';
import authentication from '../../../docs/reference/authentication.md';
import conventions from '../../../docs/reference/conventions.md';
import events from '../../../docs/reference/events.md';
import listingRules from '../../../docs/reference/listing-rules.md';
import propertyFeed from '../../../docs/reference/property-feed.md';
import readme from '../../../README.md';

export const TEXTS: Readonly<Record<string, string>> = {
  'README.md': readme,
  'docs/README.md': index,
  'docs/guides/apps.md': apps,
  'docs/guides/build-hook.md': buildHook,
  'docs/guides/building-a-site.md': buildingASite,
  'docs/guides/caches.md': caches,
  'docs/guides/listings-file.md': listingsFile,
  'docs/guides/quickstart.md': quickstart,
  'docs/guides/sending-events.md': sendingEvents,
  'docs/guides/site-recipes.md': siteRecipes,
  'docs/guides/staying-in-sync.md': stayingInSync,
  'docs/guides/typed-client.md': typedClient,
  'docs/reference/authentication.md': authentication,
  'docs/reference/conventions.md': conventions,
  'docs/reference/events.md': events,
  'docs/reference/listing-rules.md': listingRules,
  'docs/reference/property-feed.md': propertyFeed,
  'docs/operate/cost.md': cost,
  'docs/operate/erasure.md': erasure,
  'docs/operate/faults.md': faults,
  'docs/operate/growing.md': growing,
  'docs/operate/keys.md': keys,
  'docs/operate/operations.md': operations,
  'docs/operate/reading-the-log.md': readingTheLog,
  'docs/operate/runbook.md': runbook,
  'docs/explain/architecture.md': architecture,
  'docs/explain/conformance.md': conformance,
  'docs/explain/dependencies.md': dependencies,
  'docs/explain/formats.md': formats,
  'docs/explain/performance.md': performance,
  'docs/explain/simulation.md': simulation,
  'docs/explain/threat-model.md': threatModel,
  'CONTRIBUTING.md': contributing,
  'CHANGELOG.md': changelog,
};
