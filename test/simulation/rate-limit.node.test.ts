/** The promises of leasing (docs/conventions.md), in virtual time. See docs/simulation.md. */

import { describe } from 'vitest';
import { prove } from './proof.ts';
import { RATE_LIMIT } from './rate-limit.ts';
import { BAD_RATE_LIMIT } from './variants.ts';

describe('the rate limit, simulated', () => prove(RATE_LIMIT, 100, BAD_RATE_LIMIT));
