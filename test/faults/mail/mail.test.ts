import { expect, test } from 'bun:test';
import { showKey } from '../../../shared/keys/view.ts';
import { profilectl } from '../../support/cli.ts';
import { request } from '../../support/keys.ts';
import { startBrokenSmtp } from '../../support/mail.ts';
import { insertProfile } from '../../support/profiles.ts';
import { readingOf } from '../../support/storage.ts';
import { testDeps } from '../../support/world.ts';

// An admin who runs `profilectl keys approve` sees that the mail server fails; test/shared/mail/ has all faults of servers, and
// test/shared/approval/ what each does to a key.

test('a mail that may have been accepted: exit code 75, a sentence that says what to do, and its secret does not work', async () => {
  const deps = testDeps();
  insertProfile(deps.db);
  const identifier = await request(deps);
  const { port, content } = await startBrokenSmtp({ dot: 'close' });
  const mail = { MAIL_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'keys@example.net' };
  const variables = { DATABASE_PATH: deps.config.databasePath, ...mail };
  const done = await profilectl(['keys', 'approve', identifier], { variables });
  expect(done).toEqual({ code: 75, stdout: '', stderr: expect.stringContaining('The mail server ') });
  expect(done.stderr).toMatch(
    /Delivery is not confirmed: .* stays pending, .* will never work\. Approve again to send a new one\./,
  );
  expect(done.stderr).not.toMatch(/@|plk_/);
  expect(showKey(deps, identifier)).toMatchObject({
    state: 'pending',
    attempt: { number: 1, result: 'not confirmed' },
  });
  const lost = /plk_\w+/.exec(content())?.[0] ?? '';
  expect([lost === '', readingOf(deps).verify(lost)]).toEqual([false, null]);
});
