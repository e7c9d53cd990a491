/** Tests which clients get a page for an unknown path. See RFC 9110, section 12.5.1. */

import { describe, expect, it } from 'vitest';
import { prefersHtml } from '../../src/development/accept.ts';

const CHROME =
  'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';

describe('prefersHtml', () => {
  it.each([
    [undefined, false],
    ['', false],
    ['*/*', false],
    ['application/json', false],
    ['application/json, text/plain, */*', false],
    ['application/json, text/html', false],
    ['text/html, application/json', false],
    ['image/webp', false],
    [CHROME, true],
    ['text/html', true],
    ['TEXT/HTML', true],
    ['text/html;charset=utf-8', true],
    ['text/*', true],
    // The quality decides, not the order.
    ['application/json;q=0.5, text/html', true],
    ['application/json, text/html;q=0.9', false],
    ['text/html; q=0.4, */*; q=0.5', false],
    ['text/html;Q=0.001', true],
    // The most specific range decides, even if a more general range has a higher quality.
    ['text/*, text/html;q=0', false],
    ['text/html;q=0, */*', false],
    ['*/*, application/json;q=0.1', true],
    ['application/*;q=0.2, */*;q=0.3', true],
    ['text/html;q=0', false],
    // A range with a parameter does not match the page.
    ['text/html;level=1, */*;q=0.5', false],
    ['text/html;level=1, text/html;q=0.7, */*;q=0.5', true],
    // Text that is not a range is ignored.
    [';;,text/html', true],
    ['text/html;q=none, application/json', false],
  ])('maps the Accept header %j to %j', (accept, isPreferred) => {
    expect(prefersHtml(accept)).toBe(isPreferred);
  });
});
