import { expect, test } from 'bun:test';
import { addToken, ERASE_LIMIT, removeToken } from '../../../shared/access/platform-tokens.ts';
import { sweepSessions } from '../../../shared/access/sweep.ts';
import { noteTokenUse, readUses } from '../../../shared/access/token-uses.ts';
import { testAccess } from '../../support/access.ts';
import { onBox } from '../../support/actors.ts';
import { testClock } from '../../support/world.ts';

test('when a token was last used is forgotten once the token is removed, and not before, whatever the clock says', () => {
  const clock = testClock(undefined, false);
  const access = testAccess({ clock });
  const add = () => {
    const wanted = { rights: ['profiles'], isWithoutAddress: false, eraseLimit: ERASE_LIMIT.default };
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
