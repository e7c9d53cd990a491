/** Problems of a listings file, and how they are told. */

/** A problem of one record, or of the file as a whole (`record` is then `the file`). */
export type ImportProblem = {
  /** `properties[3] (slug "casa-marea")` */
  record: string;
  /** Dotted: `photos.0.url`; `""` for the record as a whole. */
  path: string;
  /** The end of a sentence that begins with the path. */
  message: string;
};

/** Returns the problem as one line: `properties[3] (slug "x"): photos.0.url must be …`. */
export function problemLine({ record, path, message }: ImportProblem): string {
  return `${record}: ${path === '' ? message : `${path} ${message}`}`;
}
