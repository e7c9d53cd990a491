/** The version of the service, as in package.json: the bundle does not contain that file. */

export const VERSION = '1.0.0';

/** The id of the deployment, else the version: outside of Cloudflare, the binding is missing. */
export function workerVersion({ CF_VERSION_METADATA: metadata }: Partial<Env>): string {
  return metadata?.id || VERSION;
}
