import { expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readConfig } from '../../../shared/config/config.ts';
import type { AppError } from '../../../shared/errors.ts';
import { isLoopback } from '../../../shared/net.ts';
import { tempFolder } from '../../support/world.ts';

const folder = tempFolder();
const file = (name: string, text: string | Uint8Array) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

const svg = (attributes: string) =>
  `<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg" ${attributes}></svg>`;

/** A black pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==',
  'base64',
);

function faultOf(variables: Record<string, string>): AppError | null {
  try {
    readConfig(variables);
    return null;
  } catch (error) {
    return error as AppError;
  }
}

test('unset variables have the defaults in docs/run.md', () => {
  expect(readConfig({})).toMatchObject({
    databasePath: 'data/profiles.db',
    host: '127.0.0.1',
    port: 3000,
    publicUrl: 'http://127.0.0.1:3000',
    tls: null,
    trustedProxies: null,
    mail: null,
    publicName: 'Profile Lookup',
    publicLogo: null,
    defaultRateLimits: [
      { quota: 60, windowSeconds: 60 },
      { quota: 5000, windowSeconds: 86_400 },
    ],
    developerPlatform: true,
    logLevel: 'info',
    metricsToken: null,
  });
});

test.each<Record<string, string>>([
  { PORT: '-1' },
  { PORT: '3e3' },
  { HOST: '::1%lo' },
  { PUBLIC_URL: 'https://example.org/?x=1' },
  { PUBLIC_URL: 'https://user@example.org' },
  { TRUSTED_PROXIES: '10.0.0.0/33' },
  { TRUSTED_PROXIES: '127.0.0.1,' },
  { TRUSTED_PROXIES: '127.0.0.1/8/8' },
  { MAIL_URL: 'http://example.org' },
  { MAIL_URL: 'smtp://user@example.org' },
  { MAIL_URL: 'file:' },
  { MAIL_FROM: 'a@example.org, b@example.org' },
  { ADMIN_EMAIL: 'a@example.org\r\nBcc: b@example.org' },
  { PUBLIC_NAME: 'x'.repeat(41) },
  { PUBLIC_NAME: ' ' },
  { PUBLIC_NAME: 'Link\u202ehive' },
  { PUBLIC_NAME: 'Link\u2028hive' },
  { PUBLIC_NAME: '\u200b\u200d' },
  { PUBLIC_NAME: '\u3164' },
  { PUBLIC_NAME: '\u2800\u00ad\ufe0f' },
  { DEFAULT_RATE_LIMITS: '60/1m,1/60s' },
  { DEFAULT_RATE_LIMITS: '0/1m' },
  { DEFAULT_RATE_LIMITS: '1000001/1m' },
  { DEFAULT_RATE_LIMITS: '1/32d' },
])('%j is refused with an error that begins with its name', (variables) => {
  expect(faultOf(variables)).toMatchObject({
    code: 'bad_config',
    message: expect.stringMatching(new RegExp(`^${Object.keys(variables)[0]} must `)),
  });
});

test('the error of each variable says what is allowed', () => {
  const sentences: [Record<string, string>, string][] = [
    [{ DATABASE_PATH: ':memory:' }, 'must name a file.'],
    [{ DATABASE_PATH: folder }, `must name a file, and ${folder} is a folder.`],
    [{ DATABASE_PATH: '/dev/null' }, 'must name a file, and /dev/null is a device or pipe.'],
    [{ DATABASE_MUST_EXIST: 'ON' }, 'must be one of on, off.'],
    [{ HOST: 'x' }, 'must be an IP address or localhost.'],
    [{ PUBLIC_URL: '', HOST: '0.0.0.0' }, 'must be set if HOST is not a loopback address.'],
    [{ TLS_KEY_FILE: '', TLS_CERT_FILE: file('cert.pem', 'x') }, 'must be set if TLS_CERT_FILE is set.'],
    [{ TLS_CERT_FILE: '', TLS_KEY_FILE: file('key.pem', 'x') }, 'must be set if TLS_KEY_FILE is set.'],
    [{ MAIL_URL_FILE: file('url', 'file:x'), MAIL_URL: 'file:y' }, 'and MAIL_URL may not both be set.'],
    [
      { MAIL_FROM: '', MAIL_URL: 'smtp://mail.example.org' },
      'must be set to the sender address, since MAIL_URL names a mail server.',
    ],
    [{ METRICS_TOKEN_FILE: file('empty', '\n') }, `names an empty file: ${join(folder, 'empty')}.`],
    [{ PORT: 'x' }, 'must be a whole number from 0 to 65535.'],
    [{ PUBLIC_URL: 'x' }, 'must be an http or https URL without a user, query or fragment.'],
    [{ TLS_CERT_FILE: '/x', TLS_KEY_FILE: '/x' }, 'does not name an existing file: /x.'],
    [
      { TRUSTED_PROXIES: 'x' },
      'must be a comma-separated list of IP addresses or CIDR blocks, for example 127.0.0.1,10.0.0.0/8.',
    ],
    [
      { MAIL_URL: 'x' },
      'must be smtp://user:password@host:587, smtps://user:password@host:465 or file:<folder>; percent-encode special characters of user and password (/ is %2F, # is %23, % is %25).',
    ],
    [
      { MAIL_URL_FILE: file('no-url', 'x') },
      'names a file whose text must be smtp://user:password@host:587, smtps://user:password@host:465 or file:<folder>; percent-encode special characters of user and password (/ is %2F, # is %23, % is %25).',
    ],
    [{ MAIL_FROM: 'x', MAIL_URL: 'smtp://mail.example.org' }, 'must be one plain e-mail address.'],
    [{ ADMIN_EMAIL: 'x' }, 'must be one plain e-mail address, or several separated by commas.'],
    [
      { PUBLIC_NAME: 'x\ny' },
      'must be one line of 1 to 40 characters, without blanks at its ends, and not all invisible.',
    ],
    [{ PUBLIC_LOGO: '/x' }, "names a file that can't be read: /x."],
    [
      { PUBLIC_LOGO: file('x.gif', 'GIF89a') },
      `must name an SVG or PNG file: ${join(folder, 'x.gif')} is neither: it begins with no <svg>.`,
    ],
    [
      { PUBLIC_LOGO: file('page.svg', `<!DOCTYPE html><html><body>${svg('viewBox="0 0 9 9"')}</body></html>`) },
      `must name an SVG or PNG file: ${join(folder, 'page.svg')} is neither: it begins with no <svg>.`,
    ],
    [
      { PUBLIC_LOGO: file('empty.svg', svg('viewBox="0 0 0 0"')) },
      `must name a picture with a size: ${join(folder, 'empty.svg')} has none.`,
    ],
    [
      { PUBLIC_LOGO: file('bare.svg', '<svg viewBox="0 0 9 9"/>') },
      `must name an SVG or PNG file: ${join(folder, 'bare.svg')} lacks xmlns="http://www.w3.org/2000/svg", without which browsers do not show it.`,
    ],
    [
      { PUBLIC_LOGO: file('head.png', PNG.subarray(0, 33)) },
      `must name an SVG or PNG file: ${join(folder, 'head.png')} is an incomplete PNG.`,
    ],
    [{ PUBLIC_LOGO: file('big', 'x'.repeat(32_769)) }, `names a file larger than 32 KiB: ${join(folder, 'big')}.`],
    [
      { PUBLIC_LOGO: file('wide.svg', svg('viewBox="0 0 32 16"')) },
      `must name a square picture; it is 32 × 16: ${join(folder, 'wide.svg')}.`,
    ],
    [{ CONTACT: 'x' }, 'must be an e-mail address or an http or https URL.'],
    [{ DEVELOPER_PLATFORM: 'x' }, 'must be one of on, off.'],
    [
      { DEFAULT_RATE_LIMITS: 'x' },
      'must be one to four of <quota>/<window>, for example 60/1m or 5000/1d: quota 1 to 1000000, units s, m, h, d, window 1s to 31d; separated by commas, windows distinct.',
    ],
    [{ LOG_LEVEL: 'x' }, 'must be one of debug, info, warn, error, silent.'],
    [{ METRICS_TOKEN: '!' }, 'must consist of letters, digits and - . _ ~ + /.'],
    [
      { METRICS_TOKEN_FILE: file('no-token', '!') },
      'names a file whose text must consist of letters, digits and - . _ ~ + /.',
    ],
  ];
  for (const [variables, sentence] of sentences) {
    expect(faultOf(variables)?.message).toBe(`${Object.keys(variables)[0]} ${sentence}`);
  }
});

test('an empty variable counts as unset', () => {
  expect(readConfig({ PORT: '', MAIL_URL: '', TRUSTED_PROXIES: '' })).toEqual(readConfig({}));
});

test('PUBLIC_URL keeps its prefix without a final slash or /api, and defaults to HOST and PORT', () => {
  const publicUrl = (PUBLIC_URL: string) => readConfig({ PUBLIC_URL }).publicUrl;
  expect(publicUrl('https://example.org/lookup/')).toBe('https://example.org/lookup');
  expect(publicUrl('https://example.org/api')).toBe('https://example.org');
  expect(publicUrl('https://example.org/lookup//api//')).toBe('https://example.org/lookup');
  expect(publicUrl('https://example.org/lookupapi')).toBe('https://example.org/lookupapi');
  expect(readConfig({ HOST: '::1', PORT: '80' }).publicUrl).toBe('http://[::1]:80');
});

test('MAIL_URL is parsed, with user and password percent-decoded', () => {
  const mail = (MAIL_URL: string) => readConfig({ MAIL_URL, MAIL_FROM: 'a@example.org' }).mail;
  const login = { user: 'us@er', password: 'p:w/d' };
  expect(mail('smtp://us%40er:p%3Aw%2Fd@mail.example.org')).toEqual({
    kind: 'server',
    host: 'mail.example.org',
    port: 587,
    secure: false,
    login,
  });
  expect(mail('smtps://mail.example.org:4650')).toMatchObject({ port: 4650, secure: true, login: null });
  expect(mail('smtp://[::1]:25')).toMatchObject({ host: '::1', port: 25 });
  expect(mail('file:mails')).toEqual({ kind: 'folder', folder: 'mails' });
  expect(mail('file:///var/mails')).toEqual({ kind: 'folder', folder: '/var/mails' });
});

test('a password in MAIL_URL with / # % that is not encoded is refused, which says to encode it', () => {
  for (const password of ['a/b', 'a#b', '100%', 'a?b']) {
    const { message = '' } = faultOf({ MAIL_URL: `smtp://bob:${password}@mail.example.org:587` }) ?? {};
    expect(message).toContain('percent-encode special characters of user and password');
    expect(message).not.toContain(password);
  }
});

test('a secret can be read from a file, without its line end', () => {
  expect(readConfig({ METRICS_TOKEN_FILE: file('token', 'abc\n') }).metricsToken).toBe('abc');
});

test('only addresses of this machine are loopback', () => {
  for (const host of ['127.0.0.1', '127.8.9.1', '::1', 'localhost']) expect(isLoopback(host)).toBe(true);
  for (const host of ['0.0.0.0', '::', '10.0.0.1', '128.0.0.1', '127.0.0.1.example.org'])
    expect(isLoopback(host)).toBe(false);
});

test('PUBLIC_NAME may have invisible characters that join visible ones', () => {
  expect(readConfig({ PUBLIC_NAME: '👩\u200d💻' }).publicName).toBe('👩\u200d💻');
});

test('PUBLIC_NAME and PUBLIC_LOGO accept what their errors say is allowed', () => {
  const path = file('logo.png', PNG);
  const { publicName, publicLogo } = readConfig({
    PUBLIC_NAME: `Łink 😀${'x'.repeat(34)}`,
    PUBLIC_LOGO: path,
  });
  expect([[...publicName].length, publicLogo]).toEqual([40, `data:image/png;base64,${PNG.toString('base64')}`]);
  for (const attributes of ['viewBox="0 0 32 32"', "viewBox='-1,-1 2.5,2.5'", 'width="48" height="48px"']) {
    expect(readConfig({ PUBLIC_LOGO: file('logo.svg', svg(attributes)) }).publicLogo).toStartWith(
      'data:image/svg+xml;base64,',
    );
  }
});

test('an endless file is refused at its 33rd KiB', () => {
  expect(faultOf({ PUBLIC_LOGO: '/dev/zero' })?.message).toBe(
    'PUBLIC_LOGO names a file larger than 32 KiB: /dev/zero.',
  );
});

/** The URLs of the pages for owners and admins with these variables. */
function pages(variables: Record<string, string>): (string | null)[] {
  const { ownerPages, adminPages } = readConfig({ MAIL_URL: 'file:mails', ...variables });
  return [ownerPages, adminPages];
}

test('pages exist over HTTPS, below the prefix of PUBLIC_URL', () => {
  const base = 'https://profiles.example.org/lookup/developers';
  expect(pages({ PUBLIC_URL: 'https://profiles.example.org/lookup/' })).toEqual([base, `${base}/admin`]);
});

test('pages exist over plain HTTP only on this machine, where browsers keep sessions safe too', () => {
  expect(pages({ PUBLIC_URL: 'http://localhost:3000' })[1]).toBe('http://localhost:3000/developers/admin');
  expect(pages({ PUBLIC_URL: 'http://profiles.example.org' })).toEqual([null, null]);
});

test('admins have no pages at an IP address, since passkeys need a host name', () => {
  expect(pages({})).toEqual(['http://127.0.0.1:3000/developers', null]);
  expect(pages({ PUBLIC_URL: 'http://[::1]:3000' })).toEqual(['http://[::1]:3000/developers', null]);
  expect(pages({ PUBLIC_URL: 'https://192.0.2.7' })).toEqual(['https://192.0.2.7/developers', null]);
});

test('there are no pages if they are off, or if no code can be mailed', () => {
  expect(pages({ DEVELOPER_PLATFORM: 'off' })).toEqual([null, null]);
  expect(pages({ MAIL_URL: '' })).toEqual([null, null]);
});
