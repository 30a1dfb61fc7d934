import { expect, test } from 'bun:test';
import { waitForAttempt } from '../../../cli/remote/attempt.ts';
import { approveKey } from '../../../shared/keys/approve.ts';
import { keyHistory, showKey } from '../../../shared/keys/view.ts';
import { onBox } from '../../support/actors.ts';
import { request } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { refusal } from '../../support/refusal.ts';
import { testDeps } from '../../support/world.ts';

test('an approval whose mail was refused does not say that the key is pending which somebody else has approved since', async () => {
  const deps = testDeps();
  insertProfile(deps.db, { id: 1 });
  const identifier = await request(deps);
  const mailer = await deps.mailer();
  if (mailer === null) throw new Error('no mailer');
  const reason = 'The mail server refused the mail.';
  const send = async () => ({ outcome: 'refused', permanent: true, reason }) as const;
  const approval = { identifier, grant: {}, by: onBox('admin') };
  const failed = await refusal(approveKey({ ...deps, mailer: async () => ({ ...mailer, send }) }, approval));
  expect(failed.message).toBe(`${reason} Key ${identifier} is pending as before.`);
  const begun = showKey(deps, identifier);
  await approveKey(deps, approval);
  const show = async () => ({ key: showKey(deps, identifier), history: keyHistory(deps, identifier) });
  const error = await refusal(waitForAttempt(begun, show, new AbortController().signal));
  expect(error.message).toBe(
    `${reason} Key ${identifier} is Active by now: "profilectl keys show ${identifier}" says how.`,
  );
});
