/** The order of the test files: those that take longest begin, so that none of them is left alone at the end. */

import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Measured on two processors, the longest first. A file that is not named follows by its size. */
const LONGEST = [
  'test/over-http/docs-page.test.ts',
  'test/tools/deploy.test.ts',
  'test/tools/import/readers.test.ts',
  'test/documents/programs.test.ts',
  'test/tools/erase-events.test.ts',
  'test/tools/import/import-program.test.ts',
  'test/tools/backup.test.ts',
  'test/tools/dev.test.ts',
  'test/tools/import/killed.test.ts',
  'test/over-http/typed-client.test.ts',
  'test/tools/import/changes.test.ts',
  'test/tools/soak.test.ts',
  'test/over-http/crash.test.ts',
  'test/tools/development/first-setup.test.ts',
  'test/tools/import/remote-import.test.ts',
  'test/hostile/requests.test.ts',
  'test/faults.test.ts',
  'test/hostile/bodies.test.ts',
  'test/events/model.test.ts',
];

export class LongestFirst extends BaseSequencer {
  /** Keeps the files of a project together, as Vitest does: they share its workers. */
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((project) =>
      sorted
        .filter((file) => file.project === project)
        .sort((one, other) => rankOf(one) - rankOf(other)),
    );
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = LONGEST.findIndex((path) => moduleId.endsWith(path));
  return rank === -1 ? LONGEST.length : rank;
}
