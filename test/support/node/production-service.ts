/** The production bundle in workerd, with its log watched. */

import { startProduction } from '../../../tools/bench/production.ts';
import type { Runtime, RuntimeOptions } from '../../../tools/bench/runtime.ts';
import { TEST_VARS } from '../vars.ts';
import { watchService } from '../watch-service-log.ts';

/** Does the same as `startProduction`, and watches the log. */
export async function startWatchedProduction(
  vars: Readonly<Record<string, string>>,
  options: RuntimeOptions = {},
): Promise<Runtime> {
  const log = watchService();
  const onLog: RuntimeOptions['onLog'] = (line) => {
    log.hear(line.message);
    options.onLog?.(line);
  };
  const runtime = await startProduction({ ...TEST_VARS, ...vars }, { ...options, onLog });
  log.at(runtime.url.origin, vars.API_KEY ?? '');
  return runtime;
}
