/** Starts the test files that take longest before the others, so that no run waits for one at its end. */

import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Longest first. In a new checkout Vitest has no durations, and would sort the files by size. */
const LONG_FILES = ['test/docs/examples.node.test.ts'];

export default class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = LONG_FILES.findIndex((path) => moduleId.endsWith(path));
      return index === -1 ? LONG_FILES.length : index;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}
