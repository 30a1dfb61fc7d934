import { describe, expect, test } from 'bun:test';
import { changeByHand, importLines } from '../../../support/import.ts';
import { readingOf } from '../../../support/reading.ts';
import { testDeps } from '../../../support/world.ts';

const KIB = 1024;

/** The total size of the responses for a profile and its links. */
function shownBytes(deps: ReturnType<typeof testDeps>, uid: number): number {
  const { lookup } = readingOf(deps);
  const bodies = [lookup.profile('uid', String(uid)), lookup.links('uid', String(uid))].map(
    (found) => found?.text.body,
  );
  return Buffer.byteLength(bodies.join(''));
}

/** A line of a profile with links, and with texts that are longer in JSON. */
function lineWith(id: number, text: string) {
  const links = [{ id: 'l', name: 'é', link: 'https://example.org/', title: text.slice(0, text.length / 2) }];
  return { id, username: `u${id}`, displayName: '"\\\n', customize: { text: text.slice(text.length / 2) }, links };
}

describe('the public size of a profile, including its links', () => {
  test('may be exactly 64 KiB', async () => {
    const deps = testDeps();
    await importLines(deps, [lineWith(1, '')]);
    const room = 64 * KIB - shownBytes(deps, 1);
    const lines = [lineWith(1, 'x'.repeat(room)), lineWith(2, 'x'.repeat(room + 1)), lineWith(3, '')];
    expect(await importLines(deps, lines)).toMatchObject({
      imported: 2,
      refused: [{ line: 2, reason: expect.stringContaining('need 65 KiB when shown') }],
    });
    expect(shownBytes(deps, 1)).toBe(64 * KIB);
    const strict = await importLines(deps, [lineWith(4, 'x'.repeat(room + 1))], { strict: true });
    expect([strict.imported, strict.refused.length]).toEqual([0, 1]);
  });

  test('is also checked for changes by hand and by merging lines', async () => {
    const deps = testDeps();
    await importLines(deps, [lineWith(1, 'x'.repeat(60 * KIB))]);
    const links = Array.from({ length: 3 }, (_, at) => ({ id: `l${at}`, name: 'n', link: 'x'.repeat(20_000) }));
    const set = () => changeByHand(deps, 'u1', () => ({ links }));
    expect(set).toThrow(
      expect.objectContaining({ code: 'refused', message: expect.stringMatching(/^The profile and /) }),
    );
    const merged = await importLines(deps, [{ id: 1, displayName: 'x'.repeat(9_000) }], { merge: true });
    expect(merged).toMatchObject({ imported: 0, refused: [{ line: 1 }] });
  });
});
