// @ts-check
/**
 * A photo over a placeholder drawing. The drawing is seen while the photo loads. When the photo cannot be loaded, the
 * drawing stays, with the photo's alt text.
 */

import { append, drawn, element } from './element.browser.js';
import { localized } from './words.browser.js';

/** @typedef {import('./words.browser.js').Language} Language */
/** @typedef {import('./words.browser.js').LocaleMap} LocaleMap */
/** @typedef {'beach' | 'ski' | null} Scenery */

const WIDTH = 400;
const HEIGHT = 300;
/** The number of colour sets for drawings in the style sheet (`tone-0` and on). */
const TONES = 4;

/**
 * Makes the picture of a photo. `isFirst`: the photo is visible at once, so it is loaded at once. `isCaptioned`: a
 * caption shows its alt text already.
 * @param {{ url: string, alt: LocaleMap }} photo
 * @param {{ language: Language, scenery: Scenery, isFirst?: boolean, isCaptioned?: boolean }} options
 */
export function pictureOf({ url, alt }, { language, scenery, isFirst, isCaptioned }) {
  const image = element('img', {
    src: url,
    alt: alt[language] ?? '',
    lang: language,
    decoding: 'async',
    loading: isFirst ? 'eager' : 'lazy',
    referrerpolicy: 'no-referrer',
  });
  const frame = element('span', { class: 'picture' }, drawingOf(url, scenery), image);
  image.addEventListener('load', () => frame.classList.add('loaded'));
  image.addEventListener('error', () => {
    image.remove();
    const text = localized(alt, language);
    append(
      frame,
      element(
        'span',
        { class: 'told' },
        element('span', { class: 'unloaded' }, 'Photo not loaded'),
        !isCaptioned &&
          element(
            'span',
            { class: 'alt', lang: text?.language },
            text?.text ?? 'A photo without alt text',
          ),
      ),
    );
  });
  return frame;
}

/**
 * Makes the frame of a listing that has no photo.
 * @param {string} text
 */
export function emptyPicture(text) {
  const icon = drawn(
    'svg',
    { viewBox: '0 0 48 48', class: 'icon', 'aria-hidden': 'true' },
    drawn('path', { d: 'M6 14h8l4-5h12l4 5h8v25H6z' }),
    drawn('circle', { cx: 24, cy: 26, r: 7.5 }),
    drawn('path', { d: 'M4 44 44 4' }),
  );
  return element('span', { class: 'picture empty' }, icon, element('span', {}, text));
}

/**
 * Draws a landscape that is always the same for an address: the sea, mountains or hills.
 * @param {string} url
 * @param {Scenery} scenery
 */
function drawingOf(url, scenery) {
  const random = randomOf(url);
  const tone = Math.floor(random() * TONES);
  const sun = {
    class: 'sun',
    cx: 60 + random() * 280,
    cy: 70 + random() * 50,
    r: 22 + random() * 14,
  };
  const shapes = { beach: seaOf, ski: mountainsOf, hills: hillsOf }[scenery ?? 'hills'](random);
  return drawn(
    'svg',
    {
      class: `drawing tone-${tone}`,
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: 'xMidYMid slice',
      'aria-hidden': 'true',
    },
    drawn('rect', { class: 'sky', width: WIDTH, height: HEIGHT }),
    drawn('circle', sun),
    ...shapes.map(([name, d]) => drawn('path', { class: name, d })),
  );
}

/** @typedef {[colour: string, path: string]} Shape */

/**
 * @param {() => number} random
 * @returns {Shape[]}
 */
function seaOf(random) {
  const horizon = 150 + random() * 25;
  return [
    ['far', hill(random, horizon - 12, 26, horizon + 4)],
    ['middle', `M0 ${horizon}H${WIDTH}V${HEIGHT}H0Z`],
    ['light', wave(random, horizon + 26)],
    ['light', wave(random, horizon + 48)],
    ['near', hill(random, 262, 26, HEIGHT)],
  ];
}

/**
 * @param {() => number} random
 * @returns {Shape[]}
 */
function mountainsOf(random) {
  return [
    ['far', ridge(random, 120, 60)],
    ['light', ridge(random, 165, 70)],
    ['middle', ridge(random, 205, 50)],
    ['near', hill(random, 262, 24, HEIGHT)],
  ];
}

/**
 * @param {() => number} random
 * @returns {Shape[]}
 */
function hillsOf(random) {
  return [
    ['far', hill(random, 165, 50, HEIGHT)],
    ['middle', hill(random, 205, 44, HEIGHT)],
    ['near', hill(random, 252, 34, HEIGHT)],
  ];
}

/**
 * Returns the path of a smooth outline around a height, closed along the line `below`.
 * @param {() => number} random
 * @param {number} around
 * @param {number} swing
 * @param {number} below
 */
function hill(random, around, swing, below) {
  const y = () => Math.round(around + (random() - 0.5) * swing * 2);
  return `M0 ${y()}C110 ${y()} 150 ${y()} 220 ${y()}S340 ${y()} ${WIDTH} ${y()}V${below}H0Z`;
}

/**
 * Returns the path of peaks around a height.
 * @param {() => number} random
 * @param {number} around
 * @param {number} swing
 */
function ridge(random, around, swing) {
  let path = `M-20 ${around + swing}`;
  for (let x = -20, isPeak = true; x < WIDTH + 40; isPeak = !isPeak) {
    x += 34 + random() * 46;
    path += `L${Math.round(x)} ${Math.round(around + (isPeak ? -1 : 0.7) * swing * (0.4 + random() * 0.6))}`;
  }
  return `${path}V${HEIGHT}H-20Z`;
}

/**
 * Returns the path of a thin line on the water.
 * @param {() => number} random
 * @param {number} y
 */
function wave(random, y) {
  const x = Math.round(20 + random() * 180);
  return `M${x} ${Math.round(y)}q40 -7 80 0t80 0q-40 9 -80 3t-80 -3Z`;
}

/**
 * Returns numbers from 0 to 1 that are always the same for a text (FNV-1a, then a linear congruence).
 * @param {string} text
 * @returns {() => number}
 */
function randomOf(text) {
  let state = 0x811c9dc5;
  for (const character of text) {
    state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
  }
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
