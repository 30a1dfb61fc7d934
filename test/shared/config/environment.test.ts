import { describe, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnvFile, readEnvironment } from '../../../shared/config/environment.ts';
import { tempFolder } from '../../support/world.ts';

const folder = tempFolder();
const file = (name: string, text: string) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

const parse = (text: string) => parseEnvFile('settings', text);

describe('a file of variables', () => {
  test('has lines NAME=value, with or without quotes, blank lines and comments', () => {
    const lines = [
      '\uFEFF# settings',
      '',
      '  # indented',
      'PORT=4000',
      'PUBLIC_NAME=\'Ada #1 \\ "Fans"\'',
      'CONTACT="https://example.org/help#api"\r',
      'MAIL_FROM=  ',
      'DATABASE_PATH=/srv/our data/p$1.db',
      'METRICS_TOKEN=a=b  ',
    ];
    const bytes = file('settings', lines.join('\n'));
    expect(readEnvironment({ envFile: bytes }, {}).source).toEqual({
      PORT: '4000',
      PUBLIC_NAME: 'Ada #1 \\ "Fans"',
      CONTACT: 'https://example.org/help#api',
      MAIL_FROM: '',
      DATABASE_PATH: '/srv/our data/p$1.db',
      METRICS_TOKEN: 'a=b',
    });
  });

  test.each([
    [
      'PUBLIC_URL=https://x.example.org # our host',
      'PUBLIC_URL has a "#"; put the value in quotes, or the comment on a line of its own',
    ],
    ['PUBLIC_NAME=Ada #1 Fans', 'PUBLIC_NAME has a "#"; put the value in quotes, or the comment on a line of its own'],
    [
      'CONTACT=https://example.org/help#api',
      'CONTACT has a "#"; put the value in quotes, or the comment on a line of its own',
    ],
    ['PUBLIC_NAME="Ada" # us', 'PUBLIC_NAME has a "#"; put the value in quotes, or the comment on a line of its own'],
    ['export MAIL_FROM=keys@example.org', 'leave out "export"'],
    ['ADMIN_EMAIL: admin@example.org', 'write NAME=value, with the name in capitals and no blanks around "="'],
    ['PORT = 4000', 'write NAME=value, with the name in capitals and no blanks around "="'],
    ['PORT= 4000', 'PORT has a blank after "="'],
    ['port=4000', 'write NAME=value, with the name in capitals and no blanks around "="'],
    ['PUBLIC_NAME="a\\n"', 'PUBLIC_NAME has a backslash in double quotes; use single quotes'],
    ["PUBLIC_NAME=Ada's", 'PUBLIC_NAME has a quote inside its value; put the whole value in quotes of the other kind'],
    ["PUBLIC_NAME='Ada", 'PUBLIC_NAME has a quote inside its value; put the whole value in quotes of the other kind'],
    ['DATABASE_PATH=a\\', 'DATABASE_PATH ends with a backslash; put the value in single quotes'],
  ])('is refused where others would read %s in another way', (line, what) => {
    expect(() => parse(`HOST=::1\n${line}\n`)).toThrow(new Error(`settings, line 2: ${what}.`));
  });

  test('may neither set a variable twice nor one that is not ours, whose error lists those there are', () => {
    expect(() => parse('PORT=1\nPORT=2')).toThrow('settings, line 2: PORT is set a second time.');
    expect(() => parse('MIAL_URL=x')).toThrow(
      /^settings, line 1: MIAL_URL is not a variable of this program; there are .*\bMAIL_URL\b/,
    );
    expect(() => parse('__proto__=x')).toThrow('settings, line 1');
  });

  test('sets what the environment does not, and is named if it is missing or a folder', () => {
    const path = file('some', 'PORT=1\nHOST=::1\n');
    expect(readEnvironment({ envFile: path }, { PORT: '2' }).source).toEqual({ PORT: '2', HOST: '::1' });
    mkdirSync(join(folder, 'a-folder'));
    for (const missing of [join(folder, 'none'), join(folder, 'a-folder')]) {
      expect(() => readEnvironment({ envFile: missing }, {})).toThrow(missing);
    }
  });
});

test('the installed settings are read unless --env-file, --db or DATABASE_PATH says which database', () => {
  const installed = file('installed', 'DATABASE_PATH=/var/lib/p.db\n');
  const pathOf = (given: { envFile?: string; db?: string }, inherited = {}) =>
    readEnvironment(given, inherited, installed).source.DATABASE_PATH;
  expect(pathOf({})).toBe('/var/lib/p.db');
  expect(pathOf({ db: 'x.db' })).toBeUndefined();
  expect(pathOf({}, { DATABASE_PATH: 'y.db' })).toBe('y.db');
  expect(pathOf({ envFile: file('other', 'PORT=1\n') })).toBeUndefined();
  expect(readEnvironment({}, {}, join(folder, 'nothing')).file).toBeNull();
});
