/** Reads ZIP archives (APPNOTE 4.3), and copies them with a different central directory. */

import { crc32, inflateRawSync } from 'node:zlib';

export type Entry = {
  name: string;
  /** Uncompressed size in bytes. */
  size: number;
  /** Compressed size in bytes. */
  packedSize: number;
  /** Position of the entry's local header in the file. */
  offset: number;
  /** The entry's record in the central directory. */
  header: Buffer;
};

const LOCAL = 0x04034b50;
const CENTRAL = 0x02014b50;
const CENTRAL_BYTES = 46;
const END_BYTES = 22;
/** Marks a 32-bit field whose actual value is in the ZIP64 extra field. */
const IN_ZIP64 = 0xffffffff;
const ZIP64_EXTRA = 1;
const ENCRYPTED = 1;
const STORED = 0;
const DEFLATED = 8;

/** Lists the entries of the central directory. Throws if the directory is missing or incomplete. */
export function listEntries(file: Buffer): Entry[] {
  const end = file.lastIndexOf('PK\x05\x06', file.length, 'latin1');
  if (end === -1 || end + END_BYTES > file.length) throw new Error('its end is missing');
  let at = findDirectory(file, end);
  const entries: Entry[] = [];
  while (at + CENTRAL_BYTES <= file.length && file.readUInt32LE(at) === CENTRAL) {
    const [name = 0, extra = 0, comment = 0] = [28, 30, 32].map((field) =>
      file.readUInt16LE(at + field),
    );
    const next = at + CENTRAL_BYTES + name + extra + comment;
    entries.push(readEntry(file.subarray(at, next), name, extra));
    at = next;
  }
  return entries;
}

/**
 * Returns the position of the central directory. A ZIP64 archive stores it in a separate record.
 */
function findDirectory(file: Buffer, end: number): number {
  const position = file.readUInt32LE(end + 16);
  if (position !== IN_ZIP64) return position;
  const record = file.lastIndexOf('PK\x06\x06', end, 'latin1');
  if (record === -1) throw new Error('its ZIP64 directory is missing');
  return Number(file.readBigUInt64LE(record + 48));
}

function readEntry(header: Buffer, nameLength: number, extraLength: number): Entry {
  const name = header.toString('utf8', CENTRAL_BYTES, CENTRAL_BYTES + nameLength);
  const extra = header.subarray(CENTRAL_BYTES + nameLength).subarray(0, extraLength);
  const large = readLargeValues(extra);
  // The extra field contains only the values that are missing here, in this order.
  const [size = 0, packedSize = 0, offset = 0] = [24, 20, 42].map((field) => {
    const value = header.readUInt32LE(field);
    if (value !== IN_ZIP64) return value;
    const largeValue = large.shift();
    if (largeValue === undefined) throw new Error(`the ZIP64 size of ${name} is missing`);
    return largeValue;
  });
  return { name, size, packedSize, offset, header };
}

/** Returns the values of the ZIP64 extra field; an empty array if there is no such field. */
function readLargeValues(extra: Buffer): number[] {
  for (let at = 0; at + 4 <= extra.length; ) {
    const length = extra.readUInt16LE(at + 2);
    const data = extra.subarray(at + 4, at + 4 + length);
    if (extra.readUInt16LE(at) === ZIP64_EXTRA) {
      const count = Math.min(3, Math.floor(data.length / 8));
      return Array.from({ length: count }, (_, index) => Number(data.readBigUInt64LE(8 * index)));
    }
    at += 4 + length;
  }
  return [];
}

/**
 * Unpacks an entry. Throws if it is damaged or encrypted, or if it unpacks to more than `maxBytes`.
 */
export function unpack(file: Buffer, entry: Entry, maxBytes: number): Buffer {
  const { name, offset, packedSize, header } = entry;
  if ((header.readUInt16LE(8) & ENCRYPTED) !== 0) throw new Error(`${name} needs a password`);
  if (offset + 30 > file.length || file.readUInt32LE(offset) !== LOCAL) {
    throw new Error(`${name} is missing`);
  }
  const start = offset + 30 + file.readUInt16LE(offset + 26) + file.readUInt16LE(offset + 28);
  const data = file.subarray(start, start + packedSize);
  const method = header.readUInt16LE(10);
  if (method === STORED) return data;
  if (method !== DEFLATED) throw new Error(`${name} is compressed by method ${method}`);
  return inflateRawSync(data, { maxOutputLength: maxBytes });
}

/**
 * Returns a copy of the archive with a new central directory. It lists the given entries under
 * their new names, and the strings of `added` as additional entries.
 */
export function withDirectory(
  file: Buffer,
  entries: ReadonlyMap<string, Entry>,
  added: Readonly<Record<string, string>> = {},
): Buffer {
  const records = [...entries].map(([name, entry]) => rename(entry.header, name));
  const data: Buffer[] = [];
  let position = file.length;
  for (const [name, text] of Object.entries(added)) {
    const [local, record] = store(name, Buffer.from(text), position);
    data.push(local);
    records.push(record);
    position += local.length;
  }
  const end = Buffer.alloc(END_BYTES);
  end.write('PK\x05\x06', 'latin1');
  for (const field of [8, 10]) end.writeUInt16LE(records.length, field);
  end.writeUInt32LE(Buffer.concat(records).length, 12);
  end.writeUInt32LE(position, 16);
  return Buffer.concat([file, ...data, ...records, end]);
}

function rename(header: Buffer, name: string): Buffer {
  const fixed = Buffer.from(header.subarray(0, CENTRAL_BYTES));
  const rest = header.subarray(CENTRAL_BYTES + fixed.readUInt16LE(28));
  const newName = Buffer.from(name);
  fixed.writeUInt16LE(newName.length, 28);
  return Buffer.concat([fixed, newName, rest]);
}

/** Returns an uncompressed entry and its record for the central directory. */
function store(name: string, data: Buffer, position: number): [local: Buffer, record: Buffer] {
  const [local, record] = [Buffer.alloc(30), Buffer.alloc(CENTRAL_BYTES)];
  local.writeUInt32LE(LOCAL);
  record.writeUInt32LE(CENTRAL);
  for (const [header, at] of [
    [local, 14],
    [record, 16],
  ] as const) {
    header.writeUInt32LE(crc32(data), at);
    header.writeUInt32LE(data.length, at + 4);
    header.writeUInt32LE(data.length, at + 8);
    header.writeUInt16LE(name.length, at + 12);
  }
  record.writeUInt32LE(position, 42);
  return [
    Buffer.concat([local, Buffer.from(name), data]),
    Buffer.concat([record, Buffer.from(name)]),
  ];
}
