import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatFault } from '../../../../shared/profiles/import/source.ts';
import { tempFolder } from '../../../support/world.ts';

const LINES = [
  { id: 1, username: 'ada' },
  { id: 2, username: 'bob' },
];
const TEXT = LINES.map((line) => `${JSON.stringify(line)}\n`).join('');

/** The two lines in each form, its name, and the program that the sentence names. */
const FORMS: [name: string, bytes: Uint8Array, program: string][] = [
  ['is compressed with gzip', Bun.gzipSync(TEXT), 'zcat'],
  ['is UTF-16', Buffer.from(`\ufeff${TEXT}`, 'utf16le'), 'iconv'],
  ['is UTF-16', Buffer.from(TEXT, 'utf16le'), 'iconv'],
  ['is UTF-16', Buffer.from(`\ufeff${TEXT}`, 'utf16le').swap16(), 'iconv'],
  ['is UTF-16', Buffer.from(TEXT, 'utf16le').swap16(), 'iconv'],
  ['is a JSON sequence', Buffer.from(LINES.map((line) => `\x1e${JSON.stringify(line)}\n`).join('')), 'tr'],
  ['is CSV', Buffer.from('id,username\n1,ada\n2,bob\n'), 'mlr'],
  ['is CSV', Buffer.from('\ufeff"id";"username"\r\n1;"ada"\r\n2;"bob"\r\n'), 'mlr'],
  ['is CSV', Buffer.from('id\tusername\n1\tada\n2\tbob\n'), 'mlr'],
];

test('a file of another format is refused with its format, and the command in the sentence converts it to JSON Lines', () => {
  const path = join(tempFolder(), "a file's name");
  for (const [name, bytes, program] of FORMS) {
    writeFileSync(path, bytes);
    const fault = formatFault(bytes, path) ?? '';
    expect(fault).toStartWith(`${path} ${name}`);
    const [, command = ''] = /Try: (.*) \| profilectl profiles import -$/.exec(fault) ?? [];
    expect(command).toStartWith(program);
    if (Bun.which(program) === null) continue;
    const { stdout } = Bun.spawnSync(['sh', '-c', command]);
    const made = stdout
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line.replace('\ufeff', '')));
    expect([name, made]).toEqual([name, LINES]);
  }
});

test('errors call input that is not a file “The input”', () => {
  expect(formatFault(Bun.gzipSync(TEXT), null)).toBe(
    'The input is compressed with gzip. Try: zcat | profilectl profiles import -',
  );
});

test('JSON Lines and arrays are recognised even if the first line is bad', () => {
  const sample = readFileSync(join(import.meta.dir, '../../../../shared/sample/profiles.jsonl'));
  const heads = [
    TEXT,
    `\ufeff${TEXT}`,
    `\r\n${TEXT}`,
    `no, JSON\n${TEXT}`,
    'nonsense\n',
    '{"id":1,"username":"a, b"',
    '7\n',
    JSON.stringify(LINES),
    `\ufeff \n${JSON.stringify(LINES, null, 2)}\n`,
  ];
  for (const head of [sample.subarray(0, 4_096), ...heads.map((text) => Buffer.from(text))]) {
    expect(formatFault(head, 'x')).toBeNull();
  }
});
