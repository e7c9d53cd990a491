/**
 * Parses the Worker's vars and secrets, once per isolate. Their defaults are in `wrangler.toml`. If a
 * var is malformed, every request gets a 500, and the log names the var. If `API_KEY` or the key set is
 * missing, requests that need a key or a token get a 401.
 */

import * as z from 'zod';
import { type KeySet, readKeySet } from './auth/jwk-set.ts';
import { namedKeys } from './auth/named-keys.ts';
import { parseJson } from './http/json-text.ts';
import { ZOD_OPTIONS } from './http/validation-problems.ts';
import { wholeNumber } from './schema/numbers.ts';

const DEVELOPMENT = 'development';
export const NOT_DEVELOPMENT = `ENVIRONMENT must not be ${DEVELOPMENT} in a deployed Worker`;

/** Largest integer that clients in every language can parse from a header. */
const MAX_INT32 = 2_147_483_647;

/**
 * Makes the schema of an http or https URL. Requires exactly two slashes before the host, because the
 * URL parser accepts any number.
 */
const httpUrl = () =>
  z
    .url({ protocol: /^https?$/, error: 'must be an http(s) URL', abort: true })
    .refine((url) => /^https?:\/\/[^/\\]/i.test(url), { error: 'must be an http(s) URL' });

/**
 * Makes the schema of `PUBLIC_SITE_URL`, the site that shows the listings. Parsing removes trailing
 * slashes.
 */
export const publicSiteUrl = () =>
  httpUrl()
    .refine((url) => !/[?#]/.test(url), { error: 'must have no query and no fragment' })
    .transform((url) => url.replace(/(?<!\/)\/+$/, ''));

function makeVars() {
  const commaSeparated = z
    .string()
    .default('')
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    );
  const origin = z.string().refine((text) => text === '*' || isOrigin(text), {
    error: 'must be origins such as https://www.example.com, comma-separated',
  });
  const text = z.string().default('');
  return {
    ENVIRONMENT: text,
    PUBLIC_SITE_URL: publicSiteUrl(),
    CORS_ORIGINS: commaSeparated.pipe(z.array(origin)),
    RATE_LIMIT_DEFAULT: wholeNumber(1, MAX_INT32),
    RATE_LIMIT_INGEST: wholeNumber(1, MAX_INT32),
    JURISDICTION: z
      .enum(['', 'eu', 'us', 'fedramp'], { error: 'must be eu, us, fedramp or empty' })
      .default(''),
    /** KV entries cannot expire in less than 60 seconds. */
    IDEMPOTENCY_RETENTION_SECONDS: wholeNumber(60, 31_536_000),
    FEED_CACHE_SECONDS: wholeNumber(0, 3_600),
    FEED_STALE_SECONDS: wholeNumber(0, 86_400),
    FEED_MEMORY_BYTES: wholeNumber(0, 67_108_864),
    API_KEY: commaSeparated,
    API_KEYS: namedKeys(),
    JWT_ISSUER: text,
    JWT_AUDIENCE: text,
    JWT_JWKS_URL: z.literal('').or(httpUrl()).default(''),
    JWT_JWKS: text.transform((json, context) =>
      json === '' ? null : parseLocalKeySet(json, context),
    ),
  };
}

const makeVarsSchema = () =>
  z.object(makeVars()).transform((values) => ({
    isDevelopment: values.ENVIRONMENT === DEVELOPMENT,
    publicSiteUrl: values.PUBLIC_SITE_URL,
    corsOrigins: values.CORS_ORIGINS,
    /** Maximum number of requests per window, by policy. */
    rateLimits: { default: values.RATE_LIMIT_DEFAULT, ingest: values.RATE_LIMIT_INGEST },
    /**
     * Jurisdiction of the rate counters. It is ignored in development, because the local runtime does
     * not support jurisdictions.
     */
    jurisdiction:
      values.JURISDICTION === '' || values.ENVIRONMENT === DEVELOPMENT
        ? undefined
        : values.JURISDICTION,
    idempotencyRetentionSeconds: values.IDEMPOTENCY_RETENTION_SECONDS,
    feedCacheSeconds: values.FEED_CACHE_SECONDS,
    feedStaleSeconds: values.FEED_STALE_SECONDS,
    feedMemoryBytes: values.FEED_MEMORY_BYTES,
    /** Unnamed keys, which have every scope. */
    apiKeys: values.API_KEY,
    namedKeys: values.API_KEYS,
    jwt: {
      issuer: values.JWT_ISSUER,
      audience: values.JWT_AUDIENCE,
      jwksUrl: values.JWT_JWKS_URL,
      localKeySet: values.JWT_JWKS,
    },
  }));

type Vars = ReturnType<typeof makeVars>;

/** The parsed vars. `problems` contains a message for each malformed var. */
export type Config = z.output<ReturnType<typeof makeVarsSchema>> & { problems: readonly string[] };

/** Names of the vars that have no default. */
type RequiredVar = {
  [Name in keyof Vars]: undefined extends z.input<Vars[Name]> ? never : Name;
}[keyof Vars];

/** Values that replace malformed vars, so that the 500 still has its usual headers. */
const FALLBACK_VARS: Readonly<Record<string, string>> = {
  PUBLIC_SITE_URL: 'https://unknown.invalid',
  RATE_LIMIT_DEFAULT: '100',
  RATE_LIMIT_INGEST: '200',
  IDEMPOTENCY_RETENTION_SECONDS: '60',
  FEED_CACHE_SECONDS: '0',
  FEED_STALE_SECONDS: '0',
  FEED_MEMORY_BYTES: '0',
} satisfies Record<RequiredVar, string>;

const configs = new WeakMap<Env, Config>();

/** Returns the parsed vars. Never throws. */
export function readConfig(env: Env): Config {
  const parsedConfig = configs.get(env);
  if (parsedConfig !== undefined) return parsedConfig;
  const schema = makeVarsSchema();
  const { data, error } = schema.safeParse(env, ZOD_OPTIONS);
  const names = error?.issues.map(({ path: [name] }) => String(name)) ?? [];
  const fallbacks = Object.fromEntries(names.map((name) => [name, FALLBACK_VARS[name]]));
  const values = data ?? schema.parse({ ...env, ...fallbacks });
  const config = { ...values, problems: formatProblems(error) };
  configs.set(env, config);
  return config;
}

/** Returns a message for each malformed var, for the commands `dev` and `deploy`. */
export function findVarProblems(vars: object): string[] {
  return formatProblems(makeVarsSchema().safeParse(vars, ZOD_OPTIONS).error);
}

function formatProblems(error: z.ZodError | undefined): string[] {
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')} ${message}`);
}

/**
 * Parses `JWT_JWKS`. Accepts an empty key set, which turns off bearer tokens. Rejects a set that has
 * entries but no usable key, because every token would be invalid.
 */
function parseLocalKeySet(text: string, context: z.RefinementCtx): KeySet | null {
  const keySet = readKeySet(parseJson(text));
  const isUsable = keySet !== undefined && (keySet.usableKeys.length > 0 || keySet.size === 0);
  if (isUsable) return keySet;
  context.addIssue('must be a JSON Web Key Set of public keys');
  return null;
}

/**
 * Whether a string is an origin (RFC 6454 section 6.2). Hybrid apps use other schemes, e.g.
 * `capacitor://localhost`.
 */
function isOrigin(text: string): boolean {
  if (/^https?:/.test(text)) {
    return URL.canParse(text) && new URL(text).origin === text && !text.includes('*');
  }
  return /^[a-z][a-z0-9+.-]*:\/\/[a-z0-9.-]+(:\d{1,5})?$/.test(text);
}
