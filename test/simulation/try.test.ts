import { it } from 'vitest';
import { Source } from './modules.ts';
import { FAULTS } from './calls.ts';
import { Fleet } from './world.ts';
import { explore, Explored, tell, run } from './simulation.ts';
import { EVENTS } from './events.ts';
import { RATE_LIMIT } from './rate-limit.ts';
import { FEED } from './feed.ts';
import * as V from './variants.ts';
it('x', async () => {
  const part = { events: EVENTS, rate: RATE_LIMIT, feed: FEED }[process.env.PART ?? 'events']!;
  const variants = process.env.V ? Object.entries({ events: V.BAD_EVENTS, rate: V.BAD_RATE_LIMIT, feed: V.BAD_FEED }[process.env.PART ?? 'events']!) : [['true', []]] as const;
  for (const [name, r] of variants) {
  if (process.env.V && !name.includes(process.env.V)) continue;
  const fleet = new Fleet(new Source(r), 4);
  let t = performance.now();
  const e = new Explored();
  if (process.env.SEED) { const f = await explore({...part, planOf: (s) => part.planOf(String(Number(s) + Number(process.env.SEED) - 1))}, fleet, 1); console.log(tell(f)); continue; }
  const all = new Map<string, string[]>();
  for (let seed = 1; seed <= Number(process.env.RUNS ?? 200); seed++) {
    const { world, violations } = await run(part, fleet, part.planOf(String(seed)));
    e.add(world);
    for (const p of new Set(violations.map((v) => v.promise))) all.set(p, [...all.get(p) ?? [], String(seed)]);
  }
  console.log(name, performance.now() - t, e.runs, e.requests, e.events, e.orders.size);
  for (const [p, s] of all) console.log(p, s.length, s.slice(0, 20).join());
  }
  if (process.env.F) console.log(FAULTS);
});
