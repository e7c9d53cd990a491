/**
 * The promises of the service, in virtual time and with everything that can fail. See
 * docs/explain/simulation.md.
 */

import { describe } from 'vitest';
import { events } from './events.ts';
import { prove } from './proof.ts';
import { rateLimit } from './rate-limit.ts';
import { BAD_EVENTS, BAD_RATE_LIMIT } from './variants.ts';

describe('the ingest, simulated', () => prove(events, BAD_EVENTS));
describe('the rate limit, simulated', () => prove(rateLimit, BAD_RATE_LIMIT));
