import { expect, test } from 'bun:test';
import { addToken, ERASE_LIMIT, removeToken } from '../../../shared/backends/backend-tokens.ts';
import { noteTokenUse, readUses } from '../../../shared/backends/token-uses.ts';
import { sweepSessions } from '../../../shared/sign-in/sweep.ts';
import { onBox } from '../../support/actors.ts';
import { testAccess } from '../../support/portal/access.ts';
import { testClock } from '../../support/world.ts';

test('the last use of a token is deleted when the token is removed, and not before, whatever the clock says', () => {
  const clock = testClock();
  const access = testAccess({ clock });
  const add = () => {
    const wanted = { rights: ['profiles'], excludesContactFields: false, eraseLimit: ERASE_LIMIT.default };
    return addToken(access, { name: 'backend', ...wanted }, onBox('root')).identifier;
  };
  const [removed, kept] = [add(), add()];
  for (const identifier of [removed, kept]) noteTokenUse(access.sessions, clock, identifier);
  clock.jump(3_600_000);
  sweepSessions(access.db, clock, access.sessions);
  expect([...readUses(access.sessions).keys()].sort()).toEqual([removed, kept].sort());
  removeToken(access, removed, onBox('root'));
  sweepSessions(access.db, clock, access.sessions);
  expect([...readUses(access.sessions).keys()]).toEqual([kept]);
});
