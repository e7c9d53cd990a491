/** The service's release and deployment id. */

/** The version in package.json, repeated here because the bundle does not contain that file. */
export const RELEASE = '2.0.0';

/** Returns the deployment id. Falls back to the release outside Cloudflare, where the binding is missing. */
export function getDeploymentId({ CF_VERSION_METADATA: metadata }: Partial<Env>): string {
  return metadata?.id || RELEASE;
}
