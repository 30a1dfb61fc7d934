import { expect, test } from 'bun:test';
import { adminPages, ownerPages } from '../../../shared/config/pages.ts';
import { testConfig } from '../../support/world.ts';

const MAIL = { MAIL_URL: 'file:mails' };

/** The URLs of the pages for owners and admins with these variables. */
function pages(variables: Record<string, string>): (string | null)[] {
  const config = testConfig({ ...MAIL, ...variables });
  return [ownerPages(config), adminPages(config)];
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
