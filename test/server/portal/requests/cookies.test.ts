import { expect, test } from 'bun:test';
import { servePages } from '../../../support/pages.ts';
import { sendRaw } from '../../raw.ts';

// Other hosts of the same site can set cookies that browsers send here too, but none whose name begins with `__Host-`.

const site = { PUBLIC_URL: 'https://dev.bio.example', TRUSTED_PROXIES: '127.0.0.1' };
const { server, cookie: pair } = await servePages(site);
const token = pair.slice(pair.indexOf('=') + 1);

/** The status of the page of sessions: 200 if signed in. `cookie` is Latin-1. */
async function statusWith(cookie: string): Promise<number> {
  const lines = ['X-Forwarded-For: 192.0.2.7', 'X-Forwarded-Proto: https', `Cookie: ${cookie}`];
  const head = ['GET /developers/sessions HTTP/1.1', 'Host: dev.bio.example', ...lines, 'Connection: close', '', ''];
  const answer = await sendRaw(server, Buffer.from(head.join('\r\n'), 'latin1'));
  return Number(answer.split(' ')[1]);
}

test('the session cookie is accepted only under its exact name, whatever another host of the site has set', async () => {
  expect(await statusWith(pair)).toBe(200);
  expect(await statusWith(`a=b;\t ${pair}`)).toBe(200);
  const others = [
    `session=${token}`,
    `__host-session=${token}`,
    `x=${pair}`,
    `${pair}0`,
    // Chromium accepts each of these from a sibling host, and sends it here.
    `\xa0${pair}`,
    `\x85${pair}`,
    Buffer.from(`\u00a0${pair}`).toString('latin1'),
    Buffer.from(`\u2003${pair}`).toString('latin1'),
    Buffer.from(`\ufeff${pair}`).toString('latin1'),
  ];
  for (const other of others) expect([other, await statusWith(other)]).toEqual([other, 303]);
  // Such a cookie does not sign out either.
  const withOtherNames = others.filter((other) => !other.startsWith('__Host-'));
  for (const other of withOtherNames) expect([other, await statusWith(`${other}x; ${pair}`)]).toEqual([other, 200]);
});

test('a repeated session cookie is not accepted', async () => {
  for (const cookie of [`${pair}; ${pair}`, `${pair}; __Host-session=x`]) expect(await statusWith(cookie)).toBe(303);
});
