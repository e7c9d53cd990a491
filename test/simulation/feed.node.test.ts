/** The age that an answer of the feed may have (docs/property-feed.md), in virtual time. See docs/simulation.md. */

import { describe } from 'vitest';
import { FEED } from './feed.ts';
import { prove } from './proof.ts';
import { BAD_FEED } from './variants.ts';

describe('the feed, simulated', () => prove(FEED, 100, BAD_FEED));
