/**
 * The promises of the service, in virtual time and with everything that can fail. See
 * docs/explain/simulation.md.
 */

import { describe } from 'vitest';
import { events } from './events.ts';
import { feed } from './feed.ts';
import { prove } from './proof.ts';
import { keyLimit, rateLimit } from './rate-limit.ts';
import { BAD_EVENTS, BAD_FEED, BAD_KEY_LIMIT, BAD_RATE_LIMIT } from './variants.ts';

describe('the ingest, simulated', () => prove(events, BAD_EVENTS));
describe('the feed, simulated', () => prove(feed, BAD_FEED));
describe('the rate limit, simulated', () => prove(rateLimit, BAD_RATE_LIMIT));
describe('the limit of a key, simulated', () =>
  prove(keyLimit, BAD_KEY_LIMIT, { runs: 3, count: process.env.FULL === '1' ? 30 : 3 }));
