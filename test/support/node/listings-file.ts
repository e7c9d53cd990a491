import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { importListings } from '../../../tools/import/import.ts';
import { readListingsFile } from '../../../tools/import/read/json.ts';

export const BAY = '5f0c2a7e-1f0b-4c67-9a55-3d1f6a1e8b42';

export type Property = Record<string, unknown> & { id: string; slug: string };

export function makeProperty(fields: Record<string, unknown> & { slug: string }): Property {
  return { id: randomUUID(), name: 'Home', status: 'listed', display_order: 0, ...fields };
}

/** Makes the content of a listings file with one location, the bay, and one amenity, Wi-Fi. */
export function makeFile(
  properties: readonly Property[],
  names: { bay?: string; wifi?: string } = {},
) {
  return {
    locations: [{ id: BAY, slug: 'bay', name: { en: names.bay ?? 'The bay' } }],
    amenities: [{ slug: 'wifi', label: { en: names.wifi ?? 'Wi-Fi', es: 'Wifi', fr: 'Wi-Fi' } }],
    properties,
  };
}

/** Imports a file directly, because two commands cannot run concurrently in one process. */
export async function importInto(database: D1Database, content: object): Promise<void> {
  const file = readListingsFile(Buffer.from(JSON.stringify(content)));
  const outcome = await importListings(file, {
    database,
    publicSiteUrl: 'https://www.example.com',
    isDryRun: false,
    many: true,
    onProgress: () => undefined,
  });
  expect(outcome.kind).toBe('accepted');
}
