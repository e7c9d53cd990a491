/** Reads text files that people edit. */

import { readFileSync } from 'node:fs';
import { UserError, withPath } from './user-error.ts';

/**
 * Returns the text of a file without its byte order mark. Throws a `UserError` if the file is not
 * in UTF-8, because its text would be damaged when it is read, and permanently when it is written
 * back.
 */
export function readTextFile(path: string): string {
  const bytes = withPath(path, () => readFileSync(path));
  const text = decode(bytes);
  if (text !== undefined) return text;
  // In Windows PowerShell 5, `>` writes UTF-16.
  const encoding = isUtf16(bytes) ? 'is in UTF-16' : 'is not in UTF-8';
  throw new UserError(
    `${path} ${encoding}. Save it as UTF-8 in an editor, or in PowerShell with Set-Content -Encoding utf8. The file was not changed`,
  );
}

function decode(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes);
    // UTF-16 without a byte order mark is valid UTF-8 with NUL characters.
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}

function isUtf16(bytes: Uint8Array): boolean {
  const mark = Buffer.from(bytes.subarray(0, 2)).toString('hex');
  return mark === 'fffe' || mark === 'feff' || bytes.includes(0);
}
