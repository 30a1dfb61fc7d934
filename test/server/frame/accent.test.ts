import { expect, test } from 'bun:test';
import { accentsOf, colourOf } from '../../../server/frame/accent.ts';
import { seededRandom } from '../../support/rounds.ts';

/** The contrast of two colours (`#rrggbb`) as defined by WCAG 2.2, implemented independently. */
function contrast(one: string, other: string): number {
  const luminance = (colour: string) => {
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
      const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

/** A mix of 9% of a colour and 91% of another, like `color-mix(in srgb, …)`. */
function tinted(colour: string, ground: string): string {
  const parts = [1, 3, 5].map((at) => {
    const [one, other] = [colour, ground].map((text) => Number.parseInt(text.slice(at, at + 2), 16)) as [
      number,
      number,
    ];
    return Math.round(one * 0.09 + other * 0.91)
      .toString(16)
      .padStart(2, '0');
  });
  return `#${parts.join('')}`;
}

/** The backgrounds of links, including those in notes about outcomes, and the text on the accent. */
const GROUNDS = ['ground', 'card', 'raised', 'good-ground', 'warn-ground', 'bad-ground', 'on-accent'];

const random = seededRandom('colours');
const hex = () =>
  `#${Math.floor(random() * 0x1000000)
    .toString(16)
    .padStart(6, '0')}`;

test('any colour is adjusted until it is readable on all backgrounds, and a button’s text on it, in light and dark', () => {
  const colours = ['#000000', '#ffffff', '#ffff00', '#0000ff', '#808080', ...Array.from({ length: 200 }, hex)];
  for (const colour of colours) {
    const accents = accentsOf(colour);
    for (const scheme of ['light', 'dark'] as const) {
      const accent = accents[scheme];
      const around = GROUNDS.map((name) => colourOf(name)[scheme]);
      const least = Math.min(
        ...[...around, tinted(accent, colourOf('card')[scheme])].map((one) => contrast(accent, one)),
      );
      expect([colour, scheme, accent, least >= 4.5]).toEqual([colour, scheme, accent, true]);
    }
  }
});

test('a readable colour stays as it is', () => {
  expect(accentsOf('#4338ca').light).toBe('#4338ca');
  expect(accentsOf('#aab4ff').dark).toBe('#aab4ff');
  // An adjusted one keeps its hue.
  expect(accentsOf('#ffff00')).toEqual({ light: '#707000', dark: '#ffff00' });
});

test('the default accent is readable', () => {
  const { light, dark } = colourOf('accent');
  expect([accentsOf(light).light, accentsOf(dark).dark]).toEqual([light, dark]);
});
