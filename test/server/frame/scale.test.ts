import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT } from '../../support/cli.ts';
import { FILES } from '../../support/source/sources.ts';

type Declaration = readonly [selector: string, property: string, value: string];

/** All declarations of a style sheet, in order. No string in ours contains a brace or a semicolon. */
function declarationsOf(css: string): Declaration[] {
  const rules = css.replace(/\/\*[\s\S]*?\*\//g, '').matchAll(/([^{};]+)\{([^{}]*)\}/g);
  return [...rules].flatMap(([, selector = '', body = '']) =>
    [...body.matchAll(/([\w-]+)\s*:\s*([^;]+);/g)].map(
      ([, property = '', value = '']): Declaration => [selector.trim(), property, value.trim()],
    ),
  );
}

const SHEETS = FILES.filter((path) => /^server\/.*\.css$/.test(path));
const read = (path: string) => declarationsOf(readFileSync(join(PROJECT, path), 'utf8'));
const BASE = 'server/frame/base.css';

/** The allowed values of each kind of property. */
const RULES: readonly [property: RegExp, isAllowed: (value: string) => boolean][] = [
  [/^font-size$/, (value) => /^var\(--size(-\w+)?\)$/.test(value)],
  // Code is smaller than the text around it, because its letters are wider.
  [/^font$/, (value) => /^((600 )?var\(--size\) \/ 1\.5rem var\(--sans\)|0\.92em var\(--mono\)|inherit)$/.test(value)],
  [/^line-height$/, (value) => ['1.25rem', '1.5rem', '2rem', '2.125rem'].includes(value)],
  [/^(margin|padding|gap|row-gap|column-gap|inset)/, (value) => isSpace(value)],
  // The heights of sticky elements.
  [/^scroll-(padding|margin)/, (value) => isSpace(value.replace(/\b(4|4\.5|6|7|10)rem\b/g, 'auto'))],
  [/radius$/, (value) => /^var\(--r(8|10|999)\)$|^50%$/.test(value)],
  // Named colours, and keywords that are not colours.
  [
    /^(?!.*(radius|spacing)$).*(color|background|border|fill|shadow|outline|stroke|decoration)/,
    (value) => /^((var\(--[\w-]+\)|none|transparent|currentColor|inherit|solid|inset|0|-?[1-4]px)(\s|$))+$/.test(value),
  ],
];

function isSpace(value: string): boolean {
  return /^[\s0]*(auto)?[\s0]*$/.test(
    value.replace(/calc\(-1 \* var\(--s(ide|\d+)\)\)|var\(--s(ide|4|8|12|16|24|32|48)\)|auto/g, ''),
  );
}

describe('all style sheets use one scale', () => {
  test('of these text sizes, spaces, radii and widths', () => {
    const scale = read(BASE).filter(
      ([selector, property]) => selector === ':root' && /^--(s|r)\d|^--size|-width$/.test(property),
    );
    expect(Object.fromEntries(scale.map(([, property, value]) => [property, value]))).toEqual({
      '--size': '1rem',
      '--size-small': '0.875rem',
      '--size-head': '0.8125rem',
      '--size-h1': '1.75rem',
      '--size-h2': '1.125rem',
      '--s4': '0.25rem',
      '--s8': '0.5rem',
      '--s12': '0.75rem',
      '--s16': '1rem',
      '--s24': '1.5rem',
      '--s32': '2rem',
      '--s48': '3rem',
      '--r8': '8px',
      '--r10': '10px',
      '--r999': '999px',
      '--page-width': '64rem',
      '--text-width': '42rem',
    });
  });

  test('and no other font sizes, spaces, radii or colours', () => {
    expect(SHEETS.length).toBeGreaterThan(2);
    const others = SHEETS.flatMap((path) =>
      read(path)
        .filter(([selector]) => !(path === BASE && selector === ':root'))
        .filter(([, property, value]) => RULES.some(([of, isAllowed]) => of.test(property) && !isAllowed(value)))
        .map((found) => [path, ...found]),
    );
    expect(others).toEqual([]);
  });

  test.each([
    ['font-size', 'larger'],
    ['font-size', '1.1rem'],
    ['font', '700 var(--size-h2) / 1.5rem var(--sans)'],
    ['scroll-padding-top', '3rem'],
    ['scroll-margin-block', '10px'],
    ['color', 'rebeccapurple'],
    ['border-left', '1px solid #fff'],
    ['background', 'linear-gradient(var(--card), tomato)'],
    ['text-decoration-color', 'CanvasText'],
    ['margin-block', '0 0.3rem'],
    ['border-radius', '4px'],
  ])('so a declaration such as %s: %s is found', (property, value) => {
    expect(RULES.some(([of, isAllowed]) => of.test(property) && !isAllowed(value))).toBe(true);
  });

  test('and only the scale defines custom properties', () => {
    const named = SHEETS.flatMap((path) =>
      read(path).filter(
        ([selector, property]) => property.startsWith('--') && !(path === BASE && selector === ':root'),
      ),
    );
    expect(named).toEqual([]);
  });
});
