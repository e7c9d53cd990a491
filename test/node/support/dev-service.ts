/** The service as `npm run dev` serves it, from a working copy of its own. */

import * as z from 'zod';
import { freePort, ProjectCopy } from './project-copy.ts';

export type DevService = {
  /** Without a trailing slash. */
  origin: string;
  apiKey: string;
  stop: () => Promise<void>;
};

/** Sets a fresh working copy up and serves it with the sample listings. Rejects when that fails. */
export async function startDevService(): Promise<DevService> {
  const project = new ProjectCopy();
  try {
    const service = await project.serve(await freePort());
    return {
      origin: service.origin,
      apiKey: z.string().parse(/x-api-key: (\w+)/.exec(service.output())?.[1]),
      stop: async () => {
        await service.stop('SIGTERM');
        project.remove();
      },
    };
  } catch (error) {
    project.remove();
    throw error;
  }
}
