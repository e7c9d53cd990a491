/** The promises of the service, in virtual time and with everything that can fail. See docs/explain/simulation.md. */

import { describe } from 'vitest';
import { EVENTS } from './events.ts';
import { FEED } from './feed.ts';
import { prove } from './proof.ts';
import { RATE_LIMIT } from './rate-limit.ts';
import { BAD_EVENTS, BAD_FEED, BAD_RATE_LIMIT } from './variants.ts';

describe('the ingest, simulated', () => prove(EVENTS, BAD_EVENTS));
describe('the feed, simulated', () => prove(FEED, BAD_FEED));
describe('the rate limit, simulated', () => prove(RATE_LIMIT, BAD_RATE_LIMIT));
