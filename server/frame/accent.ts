import base from './base.css' with { type: 'text' };

// Makes PUBLIC_COLOR readable: keeps its hue and saturation, and changes its lightness until it has a contrast of 4.5 : 1
// (WCAG 2.2, 1.4.3) with every background that it is shown on, and with text on it.

/** A colour for light and one for dark, as `#rrggbb`. */
export type Accents = { light: string; dark: string };

type Scheme = keyof Accents;

const CONTRAST = 4.5;

/** The share of the accent in the background of highlighted elements, from base.css. */
const GROUND_SHARE = Number(/--accent-ground: color-mix\(in srgb, var\(--accent\) (\d+)%/.exec(base)?.[1]) / 100;

/** The backgrounds of base.css, on each of which a link may be. */
const GROUNDS = [...base.matchAll(/--((?:\w+-)?ground|card|raised): light-dark/g)].map(([, name = '']) => name);

/** The value of a colour of base.css in both schemes. */
export function colourOf(name: string): Accents {
  const [, light = '', dark = ''] = new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\);`).exec(base) ?? [];
  return { light, dark };
}

/** A colour (`#rrggbb`) made readable in each scheme. */
export function accentsOf(colour: string): Accents {
  return { light: readable(colour, 'light', -1), dark: readable(colour, 'dark', 1) };
}

/** The closest readable lightness in one direction; black or white in the worst case. */
function readable(colour: string, scheme: Scheme, step: 1 | -1): string {
  const [hue = 0, saturation = 0, lightness = 0] = [...(Bun.color(colour, 'hsl') ?? '').matchAll(/[\d.]+/g)].map(
    Number,
  );
  let moved = colour;
  for (let at = lightness; !isReadable(moved, scheme) && at >= 0 && at <= 100; at += step / 2) {
    moved = Bun.color(`hsl(${hue} ${saturation}% ${at}%)`, 'hex') as string;
  }
  return moved;
}

function isReadable(colour: string, scheme: Scheme): boolean {
  const card = colourOf('card')[scheme];
  const around = [...GROUNDS, 'on-accent'].map((name) => colourOf(name)[scheme]);
  return [...around, mix(colour, card)].every((other) => contrast(colour, other) >= CONTRAST);
}

/** The background of highlighted elements: a mix of the accent and the card's colour. */
function mix(colour: string, card: string): string {
  const [one, other] = [channels(colour), channels(card)];
  const mixed = one.map((value, at) => Math.round(value * GROUND_SHARE + (other[at] as number) * (1 - GROUND_SHARE)));
  return Bun.color(mixed as [number, number, number], 'hex') as string;
}

function channels(colour: string): number[] {
  return (Bun.color(colour, '[rgb]') as number[] | null) ?? [];
}

function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = channels(colour).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
