/** A sheet of 300 homes as an agency keeps it, with the missing and malformed cells that people leave in one. */

const TOWNS = ['Deià', 'Sóller', 'Pollença', "Cala d'Or", 'Santanyí', 'Artà'];
const NAMES = ['Can Roig', 'Es Molí', "Son d'Alt", 'Vista Mar', 'Sa Torre', 'Ca na Maria'];
const COLUMNS =
  'hid;slug;name;status;display_order;title.en;title.es;city;bedrooms;price_from;is_early_access;location;amenities;photos;hero_photo';

/** Which mistakes the sheet holds. */
export type Mistakes = { hasPrices: boolean; hasAmenity: boolean; hasAddress: boolean };

/** Returns the sheet, as a spreadsheet program saves it where the decimal sign is a comma. */
export function messySheet({ hasPrices, hasAmenity, hasAddress }: Mistakes): string {
  const rows = Array.from({ length: 300 }, (_, index) => {
    const name = `${NAMES[index % NAMES.length]} ${index + 1}`;
    const town = TOWNS[index % TOWNS.length] ?? '';
    const price = 98_000 + index * 250;
    const host = hasAddress && index === 40 ? 'images.example.com' : 'https://images.example.com';
    const photos = [1, 2, 3].map((number) => `${host}/${town}/${name} ${number}.jpg`);
    return [
      `H-${1000 + index}`,
      `home-${index + 1}`,
      name,
      'listed',
      String(index + 1),
      // Every tenth has no English title yet.
      index % 10 === 9 ? '' : `"${name}: a house in ${town}, ""with a view"""`,
      `Casa en ${town}`,
      town,
      index % 7 === 6 ? '' : String(2 + (index % 5)),
      hasPrices && index % 25 === 1 ? `€ ${(price / 1000).toFixed(3)}` : String(price),
      index % 4 === 0 ? 'yes' : index % 4 === 1 ? 'No' : '',
      'mallorca',
      hasAmenity && index % 3 === 0 ? 'wifi|jacuzi' : 'wifi|pool',
      index % 50 === 49 ? '' : `"${photos.join('\n')}"`,
      index % 50 === 49 ? '' : photos[1],
    ].join(';');
  });
  // Spreadsheets save the empty rows below the last one, too.
  return `\ufeff${[COLUMNS, ...rows, ';;;;;;;;;;;;;;', ''].join('\r\n')}`;
}
