/**
 * The Worker's vars and secrets, parsed once per isolate; the rest of the code sees typed values.
 *
 * A value that cannot be read is a fault of the deployment: it is replaced by its default so that
 * the answer still has its headers, and `requireConfig` answers every request with a 500 and a log
 * line that names it. A missing `API_KEY` or key set is no fault: it closes what needs it.
 */

import { createMiddleware } from 'hono/factory';
import * as z from 'zod';
import type { AppEnv } from './http/app-env.ts';
import { ApiError } from './http/errors.ts';

export type Config = z.infer<typeof varsSchema>;

/** What every client can read in a header. */
const MAX_INT32 = 2_147_483_647;

/** A number written in digits, as vars are text. */
const wholeNumber = (minimum: number, maximum: number) =>
  z
    .union([z.string(), z.number()])
    .transform(String)
    .pipe(z.string().regex(/^\d{1,15}$/, 'must be a whole number'))
    .transform(Number)
    .pipe(z.int().min(minimum).max(maximum));

const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' });

/** The site that listings are shown on, without a trailing slash. The import renders under it too. */
export const publicSiteUrl = httpUrl
  .refine((url) => !/[?#]/.test(url), { error: 'must have no query and no fragment' })
  .default('https://www.example.com')
  .transform((url) => url.replace(/\/+$/, ''));

const commaSeparated = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
);

const origin = z.string().refine((text) => text === '*' || isOrigin(text), {
  error: 'must be origins such as https://www.example.com, comma-separated',
});

/** A set of public keys (RFC 7517 section 5). A private one is refused: it has no place among the vars. */
const jwks = z.object({
  keys: z.array(
    z.looseObject({ kty: z.enum(['RSA', 'EC', 'OKP']) }).refine((key) => !('d' in key)),
  ),
});

/** Environment → configuration. The defaults equal those of wrangler.toml. */
const varsSchema = z
  .object({
    ENVIRONMENT: z.string().default('production'),
    PUBLIC_SITE_URL: publicSiteUrl,
    CORS_ORIGINS: commaSeparated.pipe(z.array(origin)).default([]),
    RATE_LIMIT_DEFAULT: wholeNumber(1, MAX_INT32).default(100),
    RATE_LIMIT_INGEST: wholeNumber(1, MAX_INT32).default(200),
    /** At least 60: KV keeps nothing for a shorter time. */
    IDEMPOTENCY_RETENTION_SECONDS: wholeNumber(60, 31_536_000).default(86_400),
    FEED_CACHE_SECONDS: wholeNumber(0, 3_600).default(60),
    FEED_MEMORY_BYTES: wholeNumber(0, 67_108_864).default(8_388_608),
    API_KEY: commaSeparated.default([]),
    JWT_ISSUER: z.string().default(''),
    JWT_AUDIENCE: z.string().default(''),
    JWT_JWKS_URL: z.literal('').or(httpUrl).default(''),
    JWT_JWKS: z
      .string()
      .transform((text, context) => (text === '' ? null : parseJwks(text, context)))
      .default(null),
  })
  .transform((vars) => ({
    isDevelopment: vars.ENVIRONMENT === 'development',
    publicSiteUrl: vars.PUBLIC_SITE_URL,
    corsOrigins: vars.CORS_ORIGINS,
    /** Requests a window, by counter. */
    rateLimits: { default: vars.RATE_LIMIT_DEFAULT, ingest: vars.RATE_LIMIT_INGEST },
    idempotencyRetentionSeconds: vars.IDEMPOTENCY_RETENTION_SECONDS,
    feedCacheSeconds: vars.FEED_CACHE_SECONDS,
    feedMemoryBytes: vars.FEED_MEMORY_BYTES,
    apiKeys: vars.API_KEY,
    jwt: {
      issuer: vars.JWT_ISSUER,
      audience: vars.JWT_AUDIENCE,
      jwksUrl: vars.JWT_JWKS_URL,
      jwks: vars.JWT_JWKS,
    },
  }));

type Reading = { config: Config; faults: readonly string[] };

const readings = new WeakMap<Env, Reading>();

/** The configuration of this deployment. Never throws: see `requireConfig` for what cannot be read. */
export function configOf(env: Env): Config {
  return readingOf(env).config;
}

/** Answers 500 while any var is malformed; the log names each one and what it should be. */
export function requireConfig() {
  return createMiddleware<AppEnv>(async function requireConfig(c, next) {
    const { faults } = readingOf(c.env);
    if (faults.length > 0) {
      throw new ApiError('internal_error', 'The service is misconfigured.', {
        cause: new Error(`malformed configuration: ${faults.join('; ')}`),
      });
    }
    await next();
  });
}

function readingOf(env: Env): Reading {
  const known = readings.get(env);
  if (known !== undefined) return known;
  const reading = read(env);
  readings.set(env, reading);
  return reading;
}

function read(env: Env): Reading {
  const parsed = varsSchema.safeParse(env);
  if (parsed.success) return { config: parsed.data, faults: [] };
  const { issues } = parsed.error;
  const malformed = new Set(issues.map((issue) => String(issue.path[0])));
  const rest = Object.entries(env).filter(([name]) => !malformed.has(name));
  return {
    config: varsSchema.parse(Object.fromEntries(rest)),
    faults: issues.map((issue) => `${String(issue.path[0])} ${issue.message}`),
  };
}

function parseJwks(text: string, context: z.RefinementCtx): z.infer<typeof jwks> | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  const parsed = jwks.safeParse(value);
  if (parsed.success) return parsed.data;
  context.addIssue({ code: 'custom', message: 'must be a JSON Web Key Set of public keys' });
  return null;
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text;
}
