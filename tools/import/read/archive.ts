/** Recognises the form of a file by its first bytes and, in a ZIP archive, its entries. Pure. */

import type { Fault } from './problem.ts';

/** Of all entries. A spreadsheet of 100,000 rows has some 100 MiB. */
const MAX_UNPACKED_BYTES = 512 * 2 ** 20;

/** `text` is no spreadsheet program's own form: JSON, a CSV, a page. */
type Container =
  | { kind: 'workbook' }
  | { kind: 'text' }
  | ({ kind: 'rejected' } & Pick<Fault, 'code' | 'details'>);

export function recogniseArchive(bytes: Uint8Array): Container {
  const start = Buffer.from(bytes.subarray(0, 4)).toString('hex');
  if (start === 'd0cf11e0') {
    // The names of its entries are UTF-16.
    const isEncrypted = Buffer.from(bytes).includes(Buffer.from('EncryptedPackage', 'utf16le'));
    return { kind: 'rejected', code: isEncrypted ? 'encrypted' : 'old_workbook' };
  }
  if (start !== '504b0304') return { kind: 'text' };
  const entries = readDirectory(bytes);
  if (entries === undefined) return { kind: 'rejected', code: 'cut_workbook' };
  const unpacked = entries.reduce((sum, { size }) => sum + size, 0);
  if (unpacked > MAX_UNPACKED_BYTES) {
    const details = { megabytes: Math.ceil(unpacked / 2 ** 20), most: 512 };
    return { kind: 'rejected', code: 'unpacks_too_large', details };
  }
  const has = (name: RegExp) => entries.some((each) => name.test(each.name));
  if (has(/^xl\/workbook\.xml$/)) return { kind: 'workbook' };
  if (has(/^content\.xml$/)) return { kind: 'rejected', code: 'open_document' };
  if (has(/^Index\//)) return { kind: 'rejected', code: 'numbers_document' };
  return { kind: 'rejected', code: has(/^xl\//) ? 'old_workbook' : 'other_archive' };
}

/** A size that does not fit 32 bits is this. */
const IN_ZIP64 = 0xffffffff;
const END_BYTES = 22;
const MAX_COMMENT_BYTES = 0xffff;
const ENTRY_BYTES = 46;

/**
 * Reads the names and unpacked sizes in the central directory of a ZIP archive, which is at its end
 * (APPNOTE 4.3.12 and 4.3.16). Undefined if it has none, as in a file that was cut.
 */
function readDirectory(bytes: Uint8Array): { name: string; size: number }[] | undefined {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = file.lastIndexOf('PK\x05\x06', file.length - END_BYTES, 'latin1');
  if (end === -1 || end < file.length - END_BYTES - MAX_COMMENT_BYTES) return undefined;
  const count = file.readUInt16LE(end + 10);
  let at = file.readUInt32LE(end + 16);
  // An archive with ZIP64 has more than 4 GiB, or more than 65,534 entries.
  if (at === IN_ZIP64 || count === 0xffff) return [{ name: '', size: Number.POSITIVE_INFINITY }];
  const entries: { name: string; size: number }[] = [];
  for (let read = 0; read < count; read += 1) {
    if (at + ENTRY_BYTES > file.length || file.readUInt32LE(at) !== 0x02014b50) return undefined;
    const size = file.readUInt32LE(at + 24);
    const [name, extra, comment] = [28, 30, 32].map((offset) => file.readUInt16LE(at + offset));
    const next = at + ENTRY_BYTES + (name ?? 0);
    entries.push({
      name: file.toString('utf8', at + ENTRY_BYTES, next),
      size: size === IN_ZIP64 ? Number.POSITIVE_INFINITY : size,
    });
    at = next + (extra ?? 0) + (comment ?? 0);
  }
  return entries;
}
