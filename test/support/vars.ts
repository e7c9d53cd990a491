/** The documented length of a rate-limit window. */
export const WINDOW_SECONDS = 60;

/** The Worker's vars in tests and in the simulation. */
export const TEST_VARS = {
  ENVIRONMENT: 'production',
  PUBLIC_SITE_URL: 'https://www.example.com',
  CORS_ORIGINS: '',
  IDEMPOTENCY_RETENTION_SECONDS: '86400',
  FEED_CACHE_SECONDS: '60',
  FEED_STALE_SECONDS: '3600',
  FEED_MEMORY_BYTES: '8388608',
  RATE_LIMIT_DEFAULT: '100',
  RATE_LIMIT_INGEST: '200',
  JURISDICTION: '',
  JWT_ISSUER: 'https://identity.example.com/',
  JWT_AUDIENCE: 'events-and-property-feed',
  JWT_JWKS_URL: '',
  JWT_JWKS: '',
};
