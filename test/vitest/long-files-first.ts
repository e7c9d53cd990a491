/** Starts the slowest test files first, so that a run does not end by waiting for one of them. */

import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * The slowest test files, slowest first. In a new checkout, Vitest does not know their durations
 * and would sort the files by size.
 */
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
