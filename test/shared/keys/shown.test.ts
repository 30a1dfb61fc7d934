import { expect, test } from 'bun:test';
import { DAY_MS } from '../../../shared/clock.ts';
import { shownState } from '../../../shared/keys/shown.ts';
import { keyHistory, showKey } from '../../../shared/keys/view.ts';
import { OPERATIONS, perform } from '../../../shared/operations.ts';
import { onBox } from '../../support/actors.ts';
import { importLines } from '../../support/import.ts';
import { issue, request } from '../../support/keys.ts';
import { refusal } from '../../support/refusal.ts';
import { testDeps } from '../../support/world.ts';

test('whatever an admin decides is refused, and writes nothing, once the key is not as it was shown', async () => {
  const deps = testDeps();
  await importLines(deps, [{ id: 7, username: 'ada', email: 'ada@example.org' }]);
  const pending = await request(deps, { profile: 'ada' });
  const { identifier: active } = await issue(deps, { profile: 'ada' });
  const decisions = [
    [pending, (by: typeof grace) => perform(deps, by, OPERATIONS.beginApproval, { identifier: pending })],
    [pending, (by: typeof grace) => perform(deps, by, OPERATIONS.approve, { identifier: pending })],
    [pending, (by: typeof grace) => perform(deps, by, OPERATIONS.reject, { identifier: pending, reason: 'No.' })],
    [active, (by: typeof grace) => perform(deps, by, OPERATIONS.change, { identifier: active, expiresAtMs: null })],
    [active, (by: typeof grace) => perform(deps, by, OPERATIONS.revoke, { identifier: active, reason: 'No.' })],
  ] as const;
  let step = 0;
  const grace = { kind: 'admin', name: 'Grace', hasAsserted: true, shown: '' } as const;
  for (const [identifier, decide] of decisions) {
    const shown = shownState(deps, identifier);
    const expiresAtMs = deps.clock.nowMs() + ++step * DAY_MS;
    if (identifier === active) await perform(deps, onBox('root'), OPERATIONS.change, { identifier, expiresAtMs });
    else await perform(deps, onBox('root'), OPERATIONS.edit, { identifier, name: `Name ${step}` });
    const before = [showKey(deps, identifier), keyHistory(deps, identifier)];
    expect((await refusal(decide({ ...grace, shown } as typeof grace))).code).toBe('changed_since');
    expect([showKey(deps, identifier), keyHistory(deps, identifier)]).toEqual(before);
  }
});

test('an owner who renames an Active key again and again keeps no admin from revoking it', async () => {
  const deps = testDeps();
  await importLines(deps, [{ id: 7, username: 'ada', email: 'ada@example.org' }]);
  const { identifier: active } = await issue(deps, { profile: 'ada' });
  const grace = { kind: 'admin', name: 'Grace', hasAsserted: true } as const;
  const owner = { kind: 'owner', name: 'owner', profileId: 7 } as const;
  const shown = shownState(deps, active);
  await perform(deps, owner, OPERATIONS.edit, { identifier: active, name: 'Other' });
  await perform(deps, { ...grace, shown }, OPERATIONS.revoke, { identifier: active, reason: 'No.' });
  expect(showKey(deps, active).state).toBe('revoked');
});
