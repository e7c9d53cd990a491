import { describe, expect, it } from 'vitest';
import { isApiKey } from '../../src/auth/api-key.ts';

const KEYS = ['first-key', 'second-longer-key', 'ключ'];

describe('an API key', () => {
  it.each(KEYS)('%s is known', (key) => {
    expect(isApiKey(key, KEYS)).toBe(true);
  });

  it.each([
    '',
    'first-ke',
    'first-keY',
    'first-key ',
    'first-key\0',
    'second-longer-key-still',
    'x'.repeat(100_000),
    'first-key,second-longer-key',
    'клю',
    'ключ\0',
    'undefined',
  ])('%j is not', (sent) => {
    expect(isApiKey(sent, KEYS)).toBe(false);
  });

  it('is none where none is configured', () => {
    expect(isApiKey('', [])).toBe(false);
    expect(isApiKey('\0', [])).toBe(false);
  });

  it('is not mistaken for a key that its bytes begin with', () => {
    expect(isApiKey('aé', ['aa'])).toBe(false);
    expect(isApiKey('aaé', ['aa'])).toBe(false);
  });
});
