/** The floor: a Worker that makes only the storage calls of the design, and answers with the service's bytes. */

import { DurableObject } from 'cloudflare:workers';

type Window = { startedAt: number; hits: number };

export class RateCounter extends DurableObject<Env> {
  #window = this.ctx.storage.kv.get<Window>('window') ?? { startedAt: Date.now(), hits: 0 };
  hit(every: number): void {
    const hits = ++this.#window.hits;
    if (hits % every === 0) this.ctx.storage.kv.put('window', this.#window);
    if (hits === every) this.ctx.waitUntil(this.ctx.storage.setAlarm(Date.now() + 60_000));
  }
  override alarm = () => this.ctx.storage.deleteAll();
}

type FloorEnv = Omit<Env, 'RATE_COUNTER'> & { RATE_COUNTER: DurableObjectNamespace<RateCounter> };
const pages = new Map<string, Uint8Array>();
/** Client → requests so far. */
const counted = new Map<string, number>();

export default {
  async fetch(request: Request, env: FloorEnv, context: ExecutionContext): Promise<Response> {
    const every = Number(request.headers.get('Floor-Stored-Every'));
    const address = request.headers.get('CF-Connecting-IP') ?? '';
    const before = counted.get(address) ?? 0;
    counted.set(address, before + 1);
    const isCalled = every > 0 && before % Number(request.headers.get('Floor-Leased')) === 0;
    const client = env.RATE_COUNTER.idFromName(address);
    const counting = isCalled ? env.RATE_COUNTER.get(client).hit(every) : undefined;
    if (request.method === 'POST') await counting;
    if (request.method === 'POST') return new Response(await ingest(request, env, context));
    const kept = request.headers.has('Floor-Memory') ? pages.get(request.url) : undefined;
    const page = kept ?? (await read(env.DB, new URL(request.url).searchParams));
    pages.set(request.url, page);
    await counting;
    return new Response(page);
  },
};

async function read(database: D1Database, query: URLSearchParams): Promise<Uint8Array> {
  const statement = database.withSession('first-unconstrained').prepare(query.get('sql') ?? '');
  const rows = (await statement.raw<[string]>()).slice(0, Number(query.get('limit')));
  return new TextEncoder().encode(`${query.get('head')}${rows.join(',')}${query.get('tail')}`);
}

const INSERT = `INSERT INTO events (type, aggregate_type, aggregate_id, payload, id, created_at, key_id,
  fingerprint, receipt) SELECT ?1->>'event_type', ?1->>'aggregate_type', ?1->>'aggregate_id', ?1->>'payload',
  coalesce(?2, ?4), ?3, ?2, ?2 || ?2, ?4 WHERE NOT EXISTS (SELECT 1 FROM events WHERE key_id = ?2 AND
  (created_at > ?3 - 86400000 OR fingerprint = ?2 || ?2))`;
const HELD = 'SELECT id, receipt FROM events WHERE key_id = ? ORDER BY seq DESC LIMIT 1';

async function ingest(request: Request, { DB, IDEMPOTENCY }: FloorEnv, context: ExecutionContext) {
  const key = request.headers.get('Idempotency-Key');
  const [now, receipt] = [Date.now(), crypto.randomUUID()];
  const insert = DB.prepare(INSERT).bind(await request.text(), key, now, receipt);
  const cached = key && IDEMPOTENCY.get(key);
  const batch = key ? [insert, DB.prepare(HELD).bind(key)] : [insert];
  const held = (await DB.batch<{ receipt: string }>(batch))[1]?.results[0];
  await cached;
  const status = key === null || held?.receipt === receipt ? 'pending' : 'idempotent';
  const answer = `{"object":"event","id":"${key ?? receipt}","type":"booking.created","status":"${status}","created_at":"${new Date(now).toISOString()}"}`;
  const kept = { expirationTtl: 86_400 };
  if (key && status === 'pending') context.waitUntil(IDEMPOTENCY.put(key, answer, kept));
  return answer;
}
