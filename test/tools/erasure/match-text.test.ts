import { describe, expect, it } from 'vitest';
import { createMatcher } from '../../../tools/erasure/match-text.ts';

const matchPayload = (term: string, payload: object) =>
  createMatcher(term)(JSON.stringify(payload));

describe('search for a name', () => {
  it.each([
    ['Ángel Muñoz', 'ángel muñoz', 'ANGEL MUNOZ', 'A\u0301ngel Mun\u0303oz'],
    ['Ömer ÇELİK', 'ömer çelik', 'Omer Celik', 'ömer çelık'],
    ['Jürgen Groß', 'jurgen gross', 'JUERGEN GROSS', 'JÜRGEN GROẞ'],
    ['Siobhán O’Brien', "siobhan o'brien", 'SIOBHÁN O‘BRIEN', 'Siobhan O`Brien'],
    ['Ｔａｒｏ　ﾔﾏﾀﾞ', 'taro ヤマダ'],
    ['Νίκος', 'ΝΊΚΟΣ', 'νικοσ'],
    ['JOSÉ "Pepe" Núñez', 'jose "pepe" nunez'],
    ['Łukasz Żółć', 'łukasz żółć', 'lukasz zolc'],
    ['Søren Ærø', 'soren aero', 'Soeren Aeroe', 'Sören Äro'],
    ['Đorđe Đurić', 'dorde duric', 'Djordje Djuric', 'Ðorðe Ðuric'],
    ['Lœuilliet', 'loeuilliet'],
    ['Þórður', 'thordur', 'ÞÓRÐUR'],
    ['Håkon Ångström', 'hakon angstrom', 'Haakon Aangstroem'],
    ['Işıl İnce', 'isil ince', 'IŞIL INCE'],
    ['Ħaż-Żebbuġ', 'haz zebbug', 'Haz\u2010Zebbug'],
    ['Əliyev Ŋuŧo', 'eliyev nuto'],
    ['D´Angelo Kaʻahumanu', "d'angelo ka'ahumanu", 'dangelo kaahumanu'],
    ['Jo\u00adhn\u200b Doe', 'john doe'],
  ])('finds every spelling of %s', (...spellings) => {
    for (const stored of spellings) {
      for (const term of spellings) {
        const match = matchPayload(term, { guest: { name: stored } });
        expect(match, `${term} in ${stored}`).toBeDefined();
      }
    }
  });

  it.each([
    ['Anna  Ruiz', 'Anna Ruiz'],
    ['Anna Ruiz', ' Anna   Ruiz'.trim()],
    ['Anna\u00a0 Ruiz', 'Anna Ruiz'],
    ['Anna - Ruiz', 'anna-ruiz'],
  ])('finds %j as an exact match of %j', (stored, term) => {
    expect(matchPayload(term, { name: stored })).toBe('exact');
  });
});

/** Formats JSON as PHP does by default. */
const toPhpJson = (value: unknown) =>
  JSON.stringify(value)
    .replaceAll('/', '\\/')
    .replaceAll(/\P{ASCII}/gu, (character) =>
      Array.from({ length: character.length }, (_, at) => character.charCodeAt(at))
        .map((code) => `\\u${code.toString(16).padStart(4, '0')}`)
        .join(''),
    );
const ANGEL = { name: 'Ángel\tMuñoz', sites: ['a/b'] };

describe('search for encoded text', () => {
  it.each<[fact: string, term: string, payload: object]>([
    ['with an escaped tab', 'Anna Ruiz', { name: 'Anna\tRuiz' }],
    ['with an escaped line break', 'Anna Ruiz', { name: 'Anna\r\nRuiz' }],
    ['in JSON in a string', 'Ángel Muñoz', { raw: toPhpJson(ANGEL) }],
    ['in JSON in JSON in a string', 'angel munoz', { raw: toPhpJson({ raw: toPhpJson(ANGEL) }) }],
    ['with escaped slashes', 'a/b', { raw: toPhpJson(ANGEL) }],
    ['with escaped quotes', 'Ana "Pepa" Gil', { raw: JSON.stringify({ name: 'Ana "Pepa" Gil' }) }],
    ['beyond 16 bits', 'Ana 🎉 Gil', { raw: toPhpJson('Ana 🎉 Gil') }],
    ['in a URL', 'anna@example.com', { link: 'https://a.test/?mail=anna%40example.com' }],
    [
      'in a URL in a URL',
      'anna@b.test',
      { link: 'https://a.test/?to=%2Fx%3Fmail%3Danna%2540b.test' },
    ],
    ['in UTF-8 in a URL', 'Ángel Muñoz', { link: '/?q=%C3%81ngel%20Mu%c3%b1oz' }],
    ['in a URL in JSON', 'Ángel', { raw: toPhpJson({ link: '/?q=%C3%81ngel' }) }],
    [
      'with escaped percent signs',
      'anna@b.test',
      { raw: String.raw`{"link":"anna\u002540b.test"}` },
    ],
    [
      'next to malformed sequences',
      'anna@b.test',
      { note: String.raw`\u00zz %C3 %zz %C0%80 \x anna%40b.test \ud83d %` },
    ],
    ['that the term encodes too', 'anna%40b.test', { mail: 'anna@b.test' }],
  ])('finds a similar match %s', (_, term, payload) => {
    expect(matchPayload(term, payload)).toBe('similar');
  });

  it.each(['100% Ana', '%C3', '%C0%80', String.raw`\u00zz`, String.raw`C:\new`])(
    'finds text that cannot be decoded (%s)',
    (text) => {
      expect(matchPayload(text, { note: `<${text}>` })).toBe('exact');
      expect(matchPayload(`${text} é`, { raw: toPhpJson({ note: `${text} é` }) })).toBe('similar');
    },
  );

  it('does not find different text', () => {
    const link = '/?mail=anna%40example.com&name=Ana%C0%80Gil';
    const payload = { raw: toPhpJson(ANGEL), link, name: 'Anna Ruiz' };
    for (const term of ['Angela', 'Ana Ruiz', 'anna@example.org', 'AnnaRuiz', 'AnaGil']) {
      expect(matchPayload(term, payload)).toBeUndefined();
    }
  });
});
