/** Which stored record a record of a file means: asked once for each record. Pure. */

import type { Fault } from './problem.ts';
import { deriveId, type RecordKeys, readKeys, slugOfUndone } from './records.ts';
import type { CompleteRecord, Resolution, StoredKeys } from './types.ts';

/**
 * A patch, and a row of a workbook, name a stored record by its id, else by hid and slug, hid, or
 * slug: `byKeys`. Other records mean the one with their id, which may follow from their hid or slug.
 */
export function makeResolver(stored: readonly StoredKeys[], byKeys: boolean) {
  const byId = new Map(stored.map((each) => [each.id, each]));
  const bySlug = new Map(stored.map((each) => [each.slug, each]));
  const byHid = Map.groupBy(stored, (each) => each.hid ?? '');
  return ({ id, hid = '', slug = '' }: Pick<RecordKeys, 'id' | 'hid' | 'slug'>): Resolution => {
    if (id === undefined && byKeys) {
      const withHid = hid === '' ? [] : (byHid.get(hid) ?? []);
      const both = withHid.find((each) => each.slug === slug);
      if (both === undefined && withHid.length > 1) return { kind: 'ambiguous' };
      const old = both ?? withHid[0] ?? bySlug.get(slug);
      if (old !== undefined) return { kind: 'stored', old };
    }
    const old = byId.get(id ?? readKeys(deriveId({ hid, slug })).id ?? '');
    if (old === undefined) return { kind: 'new' };
    const isNamed = id !== undefined || old.slug === slug || (hid !== '' && old.hid === hid);
    // An undo has taken the slug of a listing that the same import adds again.
    const isUndone = old.slug === slugOfUndone(old.id);
    return { kind: isNamed || isUndone ? 'stored' : 'anothers', old };
  };
}

/** The faults of the keys of a record that is merged. */
export function findKeyFault(
  { kind }: Resolution,
  { id, hid, slug }: RecordKeys,
  mustBeStored: boolean,
  known: () => string[],
): Fault | undefined {
  if ((id ?? hid ?? slug) === undefined) return { path: '', code: 'names_no_listing' };
  if (kind === 'ambiguous') return { path: 'hid', code: 'unclear_hid', value: hid };
  if (kind === 'stored' || !mustBeStored) return undefined;
  const name = `${slug}`;
  return {
    path: '',
    code: 'not_stored',
    details: { slug: name },
    unknown: { name, known: known() },
  };
}

export function anothersIdFault<T>(
  { name: { kind }, keys, idField }: Omit<CompleteRecord<T>, 'faults' | 'resolution'>,
  { slug, id }: StoredKeys,
): Fault {
  const details = { holder: `${kind} ${slug ?? id}`, idField, key: 'slug' };
  return { path: idField, code: 'id_taken', details, value: keys[idField] };
}
