// @ts-check
/** Makes elements. Texts of listings are set as text, never as HTML. */

/** @typedef {Node | string | false | null | undefined} Child Neither a node nor a text: left out. */
/** @typedef {Readonly<Record<string, string | number | boolean | null | undefined>>} Attributes */

/**
 * Makes an element. An attribute that is true is set without a value. An attribute that is false, null or undefined
 * is left out.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  setAttributes(made, attributes);
  append(made, ...children);
  return made;
}

/**
 * Makes an element of an SVG drawing.
 * @param {string} tag
 * @param {Attributes} [attributes]
 * @param {...Node} children
 */
export function drawn(tag, attributes = {}, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  setAttributes(made, attributes);
  made.append(...children);
  return made;
}

/**
 * Appends children to an element.
 * @param {Element} parent
 * @param {...(Child | Child[])} children
 */
export function append(parent, ...children) {
  for (const child of children.flat()) {
    if (child !== undefined && child !== null && child !== false) parent.append(child);
  }
}

/**
 * @param {Element} target
 * @param {Attributes} attributes
 */
function setAttributes(target, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    target.setAttribute(name, value === true ? '' : String(value));
  }
}
