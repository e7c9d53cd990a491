/** A served scratch copy with the sample listings. */

import * as z from 'zod';
import type { ProjectCopy } from './project-copy.ts';
import { copyWithStore } from './stores.ts';

export type DevService = {
  /** Has no trailing slash. */
  origin: string;
  apiKey: string;
  /** The scratch copy that is served. */
  project: ProjectCopy;
  stop: () => Promise<void>;
};

/** Serves the copy. Rejects when that fails. */
export async function startDevService(): Promise<DevService> {
  const project = await copyWithStore('samples');
  try {
    const { origin, vars } = await project.serve();
    const apiKey = z.string().parse(vars.get('API_KEY'));
    return { origin, apiKey, project, stop: () => project.remove() };
  } catch (error) {
    await project.remove();
    throw error;
  }
}
