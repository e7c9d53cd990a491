/** The release of the service, and the id of its deployment. */

/** The version in package.json. It is repeated here, because the bundle does not contain that file. */
export const RELEASE = '2.0.0';

/** Returns the id of the deployment. Outside of Cloudflare, where the binding is missing, returns the release. */
export function getDeploymentId({ CF_VERSION_METADATA: metadata }: Partial<Env>): string {
  return metadata?.id || RELEASE;
}
