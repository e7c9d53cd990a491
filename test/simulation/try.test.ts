import { it } from 'vitest';
import { Source } from './modules.ts';
import { FAULTS } from './calls.ts';
import { Fleet } from './world.ts';
import { explore, Explored, tell } from './simulation.ts';
import { EVENTS } from './events.ts';
it('x', async () => {
  const fleet = new Fleet(new Source(), 4);
  let t = performance.now();
  const e = new Explored();
  const f = await explore(EVENTS, fleet, Number(process.env.RUNS ?? 200), e);
  console.log(performance.now() - t, e.runs, e.requests, e.events, e.orders.size, tell(f));
  console.log(FAULTS);
});
