import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { AppError } from '../../../../shared/errors.ts';
import { isUnsafeLink } from '../../../../shared/profiles/edit/link-scheme.ts';
import { exportProfile } from '../../../../shared/profiles/export.ts';
import { changeByHand, importLines } from '../../../support/import.ts';
import { testDeps } from '../../../support/world.ts';

const link = (address: string) => ({ id: 'l', name: 'n', link: address });

test('a URL is unsafe exactly if a browser would parse one of the three schemes', () => {
  for (const address of [
    'javascript:alert(1)',
    ' \tJaVaScRiPt:1',
    'java\nscript:1',
    '\u0001data:text/html,x',
    'VBScript:x',
  ]) {
    expect([address, isUnsafeLink(address)]).toEqual([address, true]);
  }
  for (const address of [
    'https://example.org/javascript:1',
    'mailto:a@example.org',
    'javascript',
    '/data:',
    'x javascript:',
    '',
  ]) {
    expect([address, isUnsafeLink(address)]).toEqual([address, false]);
  }
});

test('no URL in which the URL parser finds one of the schemes counts as safe', () => {
  const noise = fc.constantFrom('', '\t', '\n', '\r', '\t\n');
  const letters = (scheme: string) =>
    fc.tuple(
      ...[...scheme].map((char) => fc.tuple(fc.constantFrom(char, char.toUpperCase()), noise).map(([a, b]) => a + b)),
    );
  const before = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\u0000', '\u0001', '\u001f'), maxLength: 4 });
  const scheme = fc.oneof(
    ...['javascript:', 'vbscript:', 'data:'].map((name) => letters(name).map((parts) => parts.join(''))),
  );
  fc.assert(
    fc.property(before, scheme, (start, name) => {
      const address = `${start}${name}x`;
      expect(['javascript:', 'vbscript:', 'data:']).toContain(new URL(address).protocol);
      expect(isUnsafeLink(address)).toBe(true);
    }),
  );
});

describe('links of these schemes', () => {
  test('are dropped and counted by an import, which imports the line', async () => {
    const deps = testDeps();
    const links = [link('https://example.org'), link('javascript:1'), link('data:text/html,x')];
    const result = await importLines(deps, [
      { id: 1, username: 'ada', links },
      { id: 2, username: 'bob', links: [link(' vbscript:x')] },
    ]);
    expect(result).toMatchObject({ imported: 2, refused: [], dropped: { links: 3 } });
    expect(JSON.parse(exportProfile(deps.db, { uid: 1 })).links).toEqual([link('https://example.org')]);
  });

  test('are refused when links are set by hand', async () => {
    const deps = testDeps();
    await importLines(deps, [{ id: 1, username: 'ada', links: [link('https://example.org')] }]);
    const set = () => changeByHand(deps, 'ada', () => ({ links: [link('javascript:1')] }));
    expect(set).toThrow(AppError);
    expect(JSON.parse(exportProfile(deps.db, { uid: 1 })).links).toHaveLength(1);
  });
});
