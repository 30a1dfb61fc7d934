import { afterAll, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newSecret } from '../../shared/keys/secret.ts';
import { systemRandom } from '../../shared/random.ts';
import { newToken } from '../../shared/sessions-file/tokens.ts';
import { newTokenText } from '../../shared/sign-ins/token-text.ts';
import { searchForSecrets } from './secret-search.ts';

const TOKEN = newToken(systemRandom);
const CODE = 'Z7K3-9QXM';

/**
 * Makes a folder with a secret and a code in mails, with a person's token, another code and a cookie's token in the
 * notes, and with this content in a file of a subfolder.
 */
function folderWith(content: (mailed: string, noted: string) => string | Uint8Array): string {
  const folder = mkdtempSync(join(tmpdir(), 'profile-lookup-search-'));
  // Removed before the whole suite's files are searched.
  afterAll(() => rmSync(folder, { recursive: true }));
  const [mailed, noted] = [newSecret('k7Qm2XaB', systemRandom), newTokenText('plt', systemRandom).token];
  mkdirSync(join(folder, 'mail'), { recursive: true });
  writeFileSync(join(folder, 'mail/one.eml'), `To: a@example.org\n\n${mailed}\n`);
  writeFileSync(join(folder, 'mail/two.eml'), `To: a@example.org\r\n\r\nType this:\r\n\r\n${CODE}\r\n`);
  writeFileSync(join(folder, 'secrets.txt'), `${noted}\ntoken ${TOKEN}\nBV2N-44T0\n0000-0001\n`);
  writeFileSync(join(folder, 'mail/left-behind'), content(mailed, noted));
  return folder;
}

test('mails themselves are not found, nor a mail that was being written when its process was killed', () => {
  const folder = folderWith(() => 'nothing');
  writeFileSync(join(folder, 'mail', `.${crypto.randomUUID()}.unfinished`), readFileSync(join(folder, 'mail/one.eml')));
  const result = searchForSecrets(folder);
  expect(result).toEqual({ secrets: 2, codes: 2, tokens: 1, files: 1, bytes: 7, found: [] });
});

test('links are not followed, because they may lead out of the folder or back into it', () => {
  const folder = folderWith(() => 'nothing');
  const elsewhere = folderWith((mailed) => mailed);
  symlinkSync(folder, join(folder, 'mail/here'));
  symlinkSync(join(elsewhere, 'mail/left-behind'), join(folder, 'mail/there'));
  expect(searchForSecrets(folder)).toMatchObject({ files: 1, found: [] });
});

test('a secret that was left behind is found, whole or in part, mailed or noted, in any place', () => {
  const contents: ((mailed: string, noted: string) => string | Uint8Array)[] = [
    (mailed) => mailed,
    (_mailed, noted) => `{"line":"${noted}"}`,
    (mailed) => mailed.slice(13),
    (mailed) => `abc${mailed.slice(20, 36)}`,
    (mailed) => Buffer.concat([Buffer.alloc(1000, 0xff), Buffer.from(mailed.slice(13, 45)), Buffer.alloc(10)]),
    ...Array.from(
      { length: 9 },
      (_, at) => (mailed: string) => `${' '.repeat(at)}abc${mailed.slice(13 + at, 29 + at)} `,
    ),
    ...Array.from({ length: 9 }, (_, at) => (mailed: string) => `${'a'.repeat(at)}${mailed.slice(20, 36)}`),
    // Across the border of two chunks.
    (mailed) => Buffer.concat([Buffer.alloc(8 * 1024 * 1024 - 10, 0x20), Buffer.from(mailed.slice(13, 29))]),
  ];
  for (const content of contents) {
    const folder = folderWith(content);
    expect(searchForSecrets(folder).found).toEqual([join(folder, 'mail/left-behind')]);
    writeFileSync(join(folder, 'mail/left-behind'), '');
  }
});

test('a code or token that was left behind is found, whole or in part, in text and between other bytes', () => {
  const contents: (string | Uint8Array)[] = [
    ...Array.from({ length: 9 }, (_, at) => `${' '.repeat(at)}${CODE.replace('-', '')} `),
    CODE,
    `code=${CODE.replace('-', '')}&next=`,
    `{"line":"BV2N-44T0"}`,
    `session=${TOKEN}; Path=/`,
    ...[0, 5, 8, 27].map((from) => `…${TOKEN.slice(from, from + 16)}…`),
    Buffer.concat([Buffer.alloc(1000, 0xff), Buffer.from(TOKEN), Buffer.alloc(10)]),
    Buffer.concat([Buffer.alloc(8 * 1024 * 1024 - 3, 0x20), Buffer.from(CODE)]),
  ];
  for (const content of contents) {
    const folder = folderWith(() => content);
    expect([content, searchForSecrets(folder).found]).toEqual([content, [join(folder, 'mail/left-behind')]]);
    writeFileSync(join(folder, 'mail/left-behind'), '');
  }
});

test('predictable codes, tokens of others and times are not found', () => {
  const folder = folderWith(() => `0000-0001 ${newToken(systemRandom)} 2026-01-01T00:00:00.000Z ${TOKEN.slice(0, 15)}`);
  expect(searchForSecrets(folder).found).toEqual([]);
});

test('a secret that was never mailed is not found', () => {
  const folder = folderWith(
    (mailed) => `${newSecret('k7Qm2XaB', systemRandom)} ${mailed.slice(0, 13)} ${'x'.repeat(99)}`,
  );
  expect(searchForSecrets(folder).found).toEqual([]);
});

test('shares of a search read each file once, and find the same together', () => {
  const folder = folderWith((mailed) => mailed);
  for (const name of ['a', 'b', 'c', 'd']) writeFileSync(join(folder, name), name === 'c' ? TOKEN : 'nothing');
  const whole = searchForSecrets(folder);
  const shares = [0, 1].map((at) => searchForSecrets(folder, { at, of: 2 }));
  const found = shares.flatMap((share) => share.found);
  expect([shares.map(({ files }) => files), found.sort()]).toEqual([[3, 2], whole.found.sort()]);
  expect(found).toHaveLength(2);
  expect(shares.map(({ secrets, codes, tokens }) => [secrets, codes, tokens])).toEqual([
    [2, 2, 1],
    [2, 2, 1],
  ]);
});
