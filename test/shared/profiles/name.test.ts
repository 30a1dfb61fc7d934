import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { authIdFault, checkedFold, foldName, nameFault } from '../../../shared/profiles/name.ts';
import { ANY_CHARACTER } from '../../support/rounds.ts';

const anyText = fc.string({ unit: ANY_CHARACTER, maxLength: 70 });

describe('folding', () => {
  test('is stable: a folded name folds to itself', () => {
    fc.assert(fc.property(anyText, (text) => foldName(foldName(text)) === foldName(text)));
  });

  test('maps spellings that look the same to one name', () => {
    for (const [spelled, folded] of [
      ['Ada', 'ada'],
      ['ＡＤＡ', 'ada'],
      ['ﬁne', 'fine'],
      ['Straße', 'straße'],
      ['ẞ', 'ß'],
      ['İpek', 'i\u0307pek'],
      ['ΟΔΟΣ', 'οδος'],
      ['K', 'k'], // the Kelvin sign
      ['e\u0301', 'é'],
      ['ϔ', 'ϋ'],
      ['\u200bada\ufeff', 'ada'],
      ['❤️', '❤'],
      ['❤', '❤'],
      ['👩‍💻', '👩💻'],
      ['می‌خواهم', 'میخواهم'],
    ] as const) {
      expect(foldName(spelled)).toBe(folded);
    }
  });

  test('is repeated until nothing changes', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const folded = foldName(text);
        return folded.normalize('NFKC') === folded && folded.toLowerCase() === folded;
      }),
    );
  });
});

describe('a name', () => {
  test('may be anything that people use as a name', () => {
    for (const name of [
      'a',
      'Ada',
      'two words',
      '.x',
      '...',
      'q&a?#%',
      '日本語',
      '🎈',
      'a'.repeat(64),
      '🎈'.repeat(64),
      ...['❤️', '1️⃣', '👩‍💻', '🏳️‍🌈', 'می‌خواهم'],
    ]) {
      expect([name, nameFault(name)]).toEqual([name, null]);
    }
  });

  test('is refused with a reason if it violates a rule', () => {
    for (const [name, reason] of [
      ['', '1 to 64'],
      ['a'.repeat(65), '1 to 64'],
      ['a'.repeat(100_000), '1 to 64'],
      ['🎈'.repeat(65), '1 to 64'],
      ['a\u0000', 'control'],
      ['a\nb', 'control'],
      ['a\u0085b', 'control'],
      ['\ud800', 'surrogates'],
      ['a\udc00b', 'surrogates'],
      ['a\u00adb', 'invisible'],
      ['a\u200bb', 'invisible'],
      ['a\u3164', 'invisible'],
      ['a\ufeff', 'invisible'],
      ['a\u202eb', 'direction'],
      ['a\u061cb', 'direction'],
      ['a\ufffdb', 'U+FFFD, the replacement character, because request paths'],
      ['a/b', 'slash'],
      [' a', 'white space'],
      ['a\u3000', 'white space'],
      ['.', '"."'],
      ['..', '".."'],
    ] as const) {
      expect(nameFault(name)).toContain(reason);
    }
  });

  test('is refused if only its folded form violates a rule', () => {
    for (const [name, reason] of [
      ['℀', 'slash'], // a/c
      ['½'.repeat(40), '1 to 64'], // three characters each
      ['ﷺ'.repeat(4), '1 to 64'],
      ['¨', 'white space'], // a space and a combining mark
      ['．', '"."'],
      ['‥', '".."'],
      ['\u200d', '1 to 64'],
      ['\u200d.', '"."'],
      ['\u200d a', 'white space'],
    ] as const) {
      expect(nameFault(name)).toContain(reason);
      expect(checkedFold(name)).toBeNull();
    }
  });

  test('that is accepted has a folded form that is accepted, too, and that finds it', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const folded = checkedFold(text);
        return folded === null || checkedFold(folded) === folded;
      }),
    );
  });
});

describe('an auth ID', () => {
  test('has 1 to 255 bytes of any text', () => {
    for (const id of ['a', 'auth0|abc', 'a/b:c d', '\n', 'é'.repeat(127), 'x'.repeat(255)]) {
      expect(authIdFault(id)).toBeNull();
    }
    for (const id of ['', 'x'.repeat(256), 'é'.repeat(128), '\ud800', 'a\0', 'a\ufffd'])
      expect(authIdFault(id)).not.toBeNull();
  });
});
