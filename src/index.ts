/** The Worker: its HTTP handler and its Durable Object class. */

import { createApp } from './app.ts';

export { RateCounter } from './rate-limit/counter.ts';

export default createApp({ isDeployed: true });
