/** The guarantee of docs/events.md, in virtual time and with everything that can fail. See docs/simulation.md. */

import { describe } from 'vitest';
import { EVENTS } from './events.ts';
import { prove } from './proof.ts';
import { BAD_EVENTS } from './variants.ts';

describe('the ingest, simulated', () => prove(EVENTS, 100, BAD_EVENTS));
