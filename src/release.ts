/** The release. It is repeated from package.json, which the bundle does not contain. */

export const RELEASE = '2.0.0';

/** Returns the id of the deployment, or the release outside of Cloudflare, where the binding is missing. */
export function getDeploymentId({ CF_VERSION_METADATA: metadata }: Partial<Env>): string {
  return metadata?.id || RELEASE;
}
