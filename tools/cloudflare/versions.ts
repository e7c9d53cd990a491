/** The versions of a deployed Worker. */

import * as z from 'zod';
import type { Account } from './account.ts';

const deployments = z.looseObject({
  deployments: z.array(
    z.looseObject({
      versions: z.array(z.looseObject({ version_id: z.string(), percentage: z.number() })),
    }),
  ),
});
const versionList = z.looseObject({
  items: z.array(
    z.looseObject({
      id: z.string(),
      number: z.number(),
      metadata: z.looseObject({ created_on: z.string() }),
      annotations: z.record(z.string(), z.string()).nullish(),
    }),
  ),
});

export type Version = Awaited<ReturnType<typeof listVersions>>[number];

/** Returns the id of the version that most requests get; undefined if there is no such Worker. */
export async function findServed({ api, path }: Account, worker: string) {
  const known = await api.find(deployments, `${path}/workers/scripts/${worker}/deployments`);
  const served = known?.deployments[0]?.versions.toSorted((a, b) => b.percentage - a.percentage);
  return served?.[0]?.version_id;
}

/** Returns the latest versions, oldest first. A changed secret makes one without a tag. */
export async function listVersions({ api, path }: Account, worker: string) {
  const url = `${path}/workers/scripts/${worker}/versions`;
  const { items } = await api.call(versionList, 'GET', url, { query: { deployable: 'true' } });
  return items
    .toSorted((a, b) => a.number - b.number)
    .map(({ id, metadata, annotations }) => ({
      id,
      createdAt: metadata.created_on,
      tag: annotations?.['workers/tag'],
      message: annotations?.['workers/message'] ?? '',
    }));
}
