import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { routeOf } from '../../../server/http/other-requests.ts';
import { revokeLeakedKeys } from '../../../shared/keys/life.ts';
import { OPERATIONS, perform } from '../../../shared/operations.ts';
import { createCodeDesk, requestCode } from '../../../shared/sign-in/codes.ts';
import { enterHandOver } from '../../../shared/sign-in/hand-over.ts';
import { DESCRIPTION, issue, moveByAdmin, request } from '../../support/keys.ts';
import { sendDueMails } from '../../support/mail.ts';
import { ADA, ownerWorld } from '../../support/pages.ts';
import { CLIENT, enrol, ticketFor } from '../../support/people.ts';
import { importLines } from '../../support/profiles.ts';
import { PAGES } from '../../support/requests.ts';
import { onBox } from '../../support/world.ts';

const PUBLIC_URL = 'http://localhost:3000/lookup';

test('every link to the portal in any kind of e-mail leads to an existing page below PUBLIC_URL', async () => {
  const { access, clock } = await ownerWorld({ PUBLIC_URL, ADMIN_EMAIL: 'root@example.org' });
  const root = onBox('root');
  const owner = { kind: 'owner', name: 'owner', profileId: ADA.id } as const;
  const send = () => {
    clock.advance(60_000);
    return sendDueMails(access, () => undefined, true);
  };
  const fields = { name: 'Bot', description: DESCRIPTION, permissions: ['api.lookup' as const] };
  const { identifier } = await perform(access, owner, OPERATIONS.request, { profile: ADA.username, ...fields });
  await perform(access, root, OPERATIONS.reject, { identifier, reason: 'No.' });
  const found = await issue(access, { profile: ADA.username });
  revokeLeakedKeys(access, found.secret);
  const old = await issue(access, { profile: ADA.username }, { expiresAtMs: clock.nowMs() + 86_400_000 * 40 });
  await perform(access, root, OPERATIONS.change, { identifier: old.identifier, permissions: ['api.leaderboard'] });
  moveByAdmin(access, old.identifier, 'suspend');
  moveByAdmin(access, old.identifier, 'resume');
  await enrol(access, 'Grace');
  const typed = { name: ADA.username, address: ADA.email, browserSecret: null, client: CLIENT };
  expect(await requestCode(access, createCodeDesk(clock), typed).mail()).toBeNull();
  enterHandOver(access, ticketFor(access, ADA.id), CLIENT);
  await send();
  clock.advance(86_400_000 * 27);
  await request(access, { profile: ADA.username });
  await request(access, { profile: ADA.username });
  await importLines(access, [{ ...ADA, email: 'other@example.org' }]);
  await send();
  await importLines(access, [{ ...ADA, email: 'other@example.org', banned: true }]);
  clock.advance(3_600_000);
  await send();

  const sent = access.db.$client.query("SELECT DISTINCT kind FROM mails WHERE result = 'accepted'").values().flat();
  expect(sent.sort()).toEqual(KINDS);
  const folder = join(access.folder, 'mail');
  const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8').replaceAll(/=\r?\n/g, ''));
  const addresses = texts.flatMap((text) => text.replaceAll('=3D', '=').match(/https?:\/\/[^\s"<>]+/g) ?? []);
  const pages = new Set(addresses.filter((address) => address.includes('/developers')).map(withoutEnd));
  expect(pages.size).toBeGreaterThan(8);
  for (const address of pages) {
    expect([address, address.startsWith(PUBLIC_URL)]).toEqual([address, true]);
    expect([address, routeOf(PAGES, address.slice(PUBLIC_URL.length).split('?')[0] ?? '') !== null]).toEqual([
      address,
      true,
    ]);
  }
});

/** Every kind of mail that is stored. */
const KINDS = ['address', 'change', 'enrolment', 'exposure', 'new-sign-in', 'rejection', 'reminder']
  .concat(['request', 'resumption', 'revocation', 'suspension'])
  .sort();

/** A URL without the punctuation after it. */
function withoutEnd(address: string): string {
  return address.replace(/[.,:;)]+$/, '');
}
