import { beforeEach, describe, expect, test } from 'bun:test';
import { revokeLeakedKeys } from '../../../shared/keys/life.ts';
import { newSecret } from '../../../shared/keys/secret.ts';
import { keyHistory, showKey } from '../../../shared/keys/view.ts';
import { sendDueMails } from '../../../shared/mail/delivery.ts';
import { issue, mails, request } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { testClock, testDeps } from '../../support/world.ts';

let clock = testClock();
let deps = testDeps({ clock });

beforeEach(() => {
  clock = testClock();
  deps = testDeps({ clock, variables: { ADMIN_EMAIL: 'root@example.net, ops@example.net' } });
  for (const id of [1, 2, 3, 4]) insertProfile(deps.db, { id });
});

const state = (identifier: string) => showKey(deps, identifier).state;

/** The number of rows of each table. */
function counts(): unknown {
  const tables = ['api_keys', 'events', 'key_attempts', 'mails'];
  return tables.map((table) => deps.db.$client.query(`SELECT count(*) AS n FROM ${table}`).get());
}

describe('a secret that somebody found', () => {
  test('revokes its key at once, in the name of the service; its owner and every admin are notified why', async () => {
    const { identifier, secret } = await issue(deps);
    const before = mails(deps).length;
    clock.advance(3_600_000);
    expect(revokeLeakedKeys(deps, `Look what I found: Authorization: Bearer ${secret}\n`)).toBeUndefined();
    expect(keyHistory(deps, identifier).at(-1)).toMatchObject({
      event: 'revoked',
      by: 'system',
      detail: { reason: expect.stringContaining('page “Found a secret?”') },
    });
    await sendDueMails(deps, () => undefined);
    const recipients = mails(deps)
      .slice(before)
      .map((mail) => /^To: (.*)$/m.exec(mail)?.[1]);
    // The admins are also told of the request.
    const admins = ['ops@example.net', 'root@example.net'];
    expect(recipients.sort()).toEqual([...admins, ...admins, 'owner1@example.org'].sort());
    const text = mails(deps).slice(before).join();
    expect(text).toContain(`The secret of API key ${identifier} was found`);
    expect(text).not.toContain(secret);
  });

  test('revokes each of several keys, at most ten', async () => {
    const keys = [];
    for (let at = 0; at < 11; at++) keys.push(await issue(deps, { profile: `user${(at % 4) + 1}` }));
    revokeLeakedKeys(deps, keys.map(({ secret }) => secret).join('\n'));
    expect(keys.map(({ identifier }) => state(identifier))).toEqual([...Array(10).fill('revoked'), 'Active']);
  });
});

describe('any other text', () => {
  test('changes nothing, with the same response: a wrong, mistyped, foreign, revoked or expired secret, or none', async () => {
    const active = await issue(deps);
    const expired = await issue(deps, {}, { expiresAtMs: clock.nowMs() + 1000 });
    const pending = await request(deps, { profile: 'user2' });
    const revoked = await issue(deps, { profile: 'user3' });
    revokeLeakedKeys(deps, revoked.secret);
    clock.advance(1000);
    const before = counts();
    const guessed = newSecret(active.identifier, deps.random);
    const mistyped = active.secret.replace(/.$/, (last) => (last === 'a' ? 'b' : 'a'));
    const texts = ['', 'hello', guessed, mistyped, revoked.secret, expired.secret, newSecret(pending, deps.random)];
    for (const text of [...texts, newSecret('00000000', deps.random), 'plk_'.repeat(10_000)]) {
      expect(revokeLeakedKeys(deps, text)).toBeUndefined();
    }
    expect(counts()).toEqual(before);
    expect(state(active.identifier)).toBe('Active');
  });
});
