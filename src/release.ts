/** The release, as in package.json: the bundle does not contain that file. */

export const RELEASE = '2.0.0';

/** The id of the deployment, else the release: outside of Cloudflare, the binding is missing. */
export function deploymentId({ CF_VERSION_METADATA: metadata }: Partial<Env>): string {
  return metadata?.id || RELEASE;
}
