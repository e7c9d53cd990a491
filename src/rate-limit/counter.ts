/** The Durable Object that counts one client's requests. */

import { DurableObject } from 'cloudflare:workers';

export class RateCounter extends DurableObject<Env> {}
