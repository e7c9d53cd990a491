/** What a spreadsheet makes of a text, and how a sheet keeps it a text. Pure. */

const MONTH =
  '(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|ene|abr|ago|dic|janv|févr|mars|avr|mai|juin|juil|août|sept|déc)[\\p{L}.]*';

/** A spreadsheet opens such a text as something else: `00123` as 123, `1/8` as a date. */
const VALUES = [
  // A formula.
  /^[=+\-@]/,
  // A number, an amount, a share, a fraction, a time, or a date in digits.
  /^(?=.*\d)[\d\s.,:/\-'’%€$£]+([ap]m)?$/i,
  // An exponent: 1E5.
  /^\d+([.,]\d+)?e[+-]?\d+$/i,
  // A date and time: 2027-01-15T10:00:00Z.
  /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:?\d\d)?$/i,
  // A date with the name of a month: 3-mar, March 2027.
  new RegExp(`^\\d{1,4}[ .\\-/]*${MONTH}[ .,\\-/]*\\d{0,4}$`, 'iu'),
  new RegExp(`^${MONTH}[ .,\\-/]*\\d{1,4}([ .,\\-/]+\\d{1,4})?$`, 'iu'),
  /^(true|false|verdadero|falso|vrai|faux|wahr|falsch)$/i,
];

/** Reports whether a cell with this text needs an apostrophe before it. */
function needsApostrophe(text: string): boolean {
  if (text.startsWith("'")) return needsApostrophe(text.slice(1));
  return VALUES.some((value) => value.test(text));
}

/**
 * Puts an apostrophe before a text that a spreadsheet would read as something else.
 *
 * @example protectText('00123') // "'00123"
 * @example protectText("'t Huis") // "'t Huis"
 */
export function protectText(text: string): string {
  return needsApostrophe(text) ? `'${text}` : text;
}

/** Drops the apostrophe of `protectText`, and no other. */
export function unprotectText(cell: string): string {
  return cell.startsWith("'") && needsApostrophe(cell.slice(1)) ? cell.slice(1) : cell;
}

/** e.g. `#N/A`, `#DIV/0!`, `#NAME?`, `#NV`, `#¡REF!`, `#BEZUG!`, `Err:502` */
export const FORMULA_ERROR = /^(#(N\/[AD]|NV|[¡¿]?(\p{Lu}{3,}|DIV\/0)[!?])|Err:\d{3})$/u;

/** A cell of a column of numbers that was made a date, e.g. `01-ago`, `2026-08-01`, `1/8`. */
export function isDate(cell: string): boolean {
  if (/^-?[\d.,]+$/.test(cell) || /^[=+\-@]/.test(cell)) return false;
  return (
    /[-/]|\p{L}/u.test(cell) && !/%|€|\$|£/.test(cell) && VALUES.some((each) => each.test(cell))
  );
}
