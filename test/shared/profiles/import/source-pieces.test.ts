import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { formatFault, openSource } from '../../../../shared/profiles/import/source.ts';
import { importLines, jsonLines } from '../../../support/profiles.ts';
import { refusal, tempFolder, testDeps } from '../../../support/world.ts';

const LINES = [
  { id: 1, username: 'ada', displayName: 'Ä, b; c\td' },
  { id: 2, username: 'bob', customize: { theme: ['x'.repeat(5_000)] } },
];

/** The bytes as from a pipe, cut at these places. */
async function* pieces(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
  let from = 0;
  for (const to of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
    if (to > from) yield bytes.subarray(from, to);
    from = Math.max(from, to);
  }
}

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const held: Uint8Array[] = [];
  for await (const chunk of chunks) held.push(chunk);
  return Buffer.concat(held).toString();
}

const cuts = (bytes: Uint8Array) => fc.array(fc.integer({ min: 1, max: bytes.length }), { maxLength: 20 });

describe('input in pieces', () => {
  test('is recognised as JSON Lines however it is cut, even if the first piece is only "{"', async () => {
    for (const text of [jsonLines(...LINES), `\n\ufeff${jsonLines(...LINES)}`, JSON.stringify(LINES[1])]) {
      const bytes = Buffer.from(text);
      const any = fc.oneof(cuts(bytes), fc.constant([1]), fc.constant(Array.from({ length: 50 }, (_, at) => at)));
      await fc.assert(
        fc.asyncProperty(any, async (places) => {
          const source = await openSource('-', pieces(bytes, places));
          expect(await textOf(source as AsyncIterable<Uint8Array>)).toBe(text);
        }),
      );
    }
  });

  test('of another format is recognised however it is cut', async () => {
    for (const [name, bytes] of [
      ['gzip', Bun.gzipSync(jsonLines(...LINES).repeat(50))],
      ['UTF-16', Buffer.from(jsonLines(...LINES), 'utf16le')],
      ['CSV', Buffer.from('id,username\n1,ada\n')],
    ] as const) {
      await fc.assert(
        fc.asyncProperty(cuts(bytes), async (places) => {
          await expect(openSource('-', pieces(bytes, places))).rejects.toThrow(name);
        }),
        { numRuns: 20 },
      );
    }
    await expect(openSource('-', pieces(Buffer.alloc(0), []))).rejects.toThrow('is empty');
  });

  test('is not awaited after its first line', async () => {
    const endless = (async function* () {
      yield Buffer.from('{}\n');
      await new Promise(() => {});
    })();
    expect(await openSource('-', endless)).toBeDefined();
  });
});

test('a missing file, a folder and an empty file are refused with their paths', async () => {
  const folder = tempFolder();
  const file = join(folder, 'in.jsonl');
  writeFileSync(file, '');
  for (const [path, sentence] of [
    [join(folder, 'none'), 'There is no file PATH.'],
    [join(folder, 'none/'), 'There is no file PATH.'],
    [`${file}/`, 'There is no file PATH.'],
    [folder, 'PATH is a folder, not a file of JSON Lines.'],
    [`${folder}/`, 'PATH is a folder, not a file of JSON Lines.'],
    [file, 'PATH is empty; nothing was changed.'],
  ] as const) {
    const { code, message } = await refusal(openSource(path, pieces(Buffer.alloc(0), [])));
    expect([code, message]).toEqual(['refused', sentence.replace('PATH', path)]);
  }
});

test('a first line with only white space and a brace in the first 4 096 bytes counts as JSON Lines', async () => {
  const text = `{${' '.repeat(5_000)}"id":1,"username":"ada"}\n`;
  expect(formatFault(Buffer.from(text).subarray(0, 4_096), null)).toBeNull();
  expect(await importLines(testDeps(), [text.trimEnd()])).toMatchObject({ imported: 1, refused: [] });
});
