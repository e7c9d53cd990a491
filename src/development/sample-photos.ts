/**
 * Serves drawings as the photos of the sample listings. A photo's URL ends with the name of its
 * drawing, e.g. `/sample-photos/es-far-vell/01-lighthouse.webp`.
 */

import barn from './photos/barn.webp';
import bedroom from './photos/bedroom.webp';
import boat from './photos/boat.webp';
import chalet from './photos/chalet.webp';
import coast from './photos/coast.webp';
import kitchen from './photos/kitchen.webp';
import lighthouse from './photos/lighthouse.webp';
import living from './photos/living.webp';
import lodge from './photos/lodge.webp';
import mountains from './photos/mountains.webp';
import penthouse from './photos/penthouse.webp';
import slope from './photos/slope.webp';
import stoneHouse from './photos/stone-house.webp';
import terrace from './photos/terrace.webp';
import townhouse from './photos/townhouse.webp';
import villa from './photos/villa.webp';
import windmill from './photos/windmill.webp';

const DRAWINGS = new Map(
  Object.entries({
    barn,
    bedroom,
    boat,
    chalet,
    coast,
    kitchen,
    lighthouse,
    living,
    lodge,
    mountains,
    penthouse,
    slope,
    'stone-house': stoneHouse,
    terrace,
    townhouse,
    villa,
    windmill,
  }),
);

export function findPhoto(path: string): ArrayBuffer | undefined {
  const [, name = ''] = /\/\d+-([\w-]+)\.webp$/.exec(path) ?? [];
  return DRAWINGS.get(name);
}
