import { expect, test } from 'bun:test';
import { showKey } from '../../../shared/keys/view.ts';
import { profilectl } from '../../support/cli.ts';
import { request } from '../../support/keys.ts';
import { type SmtpFault, type SmtpStage, startBrokenSmtp } from '../../support/mail.ts';
import { insertProfile } from '../../support/profiles.ts';
import { readingOf } from '../../support/storage.ts';
import { testDeps } from '../../support/world.ts';

// A mail server that fails, seen by an admin who runs `profilectl keys approve`; test/shared/mail/ has all its faults.

test.each<[SmtpStage, SmtpFault, 1 | 75, RegExp]>([
  ['RCPT', '550 5.1.1 no such user', 1, /refused RCPT .*check the recipient's e-mail address.* is still pending\./],
  ['dot', '452 4.2.2 full', 75, /refused DATA .*try again later.* is still pending\./],
  [
    'dot',
    'close',
    75,
    /Delivery is not confirmed: .* stays pending, .* will never work\. Approve again to send a new one\./,
  ],
])(
  '%s %s: exit code %i, a sentence that says what to do, and the mailed secret does not work',
  async (stage, fault, code, sentence) => {
    const deps = testDeps();
    insertProfile(deps.db);
    const identifier = await request(deps);
    const { port, content } = await startBrokenSmtp({ [stage]: fault });
    const variables = {
      DATABASE_PATH: deps.config.databasePath,
      MAIL_URL: `smtp://127.0.0.1:${port}`,
      MAIL_FROM: 'keys@example.net',
    };
    const done = await profilectl(['keys', 'approve', identifier], { variables });
    expect(done).toEqual({ code, stdout: '', stderr: expect.stringMatching(sentence) });
    expect(done.stderr).toContain('The mail server ');
    expect(done.stderr).not.toMatch(/@|plk_/);
    const result = fault === 'close' ? 'not confirmed' : 'refused';
    expect(showKey(deps, identifier)).toMatchObject({ state: 'pending', attempt: { number: 1, result } });
    const lost = /plk_\w+/.exec(content())?.[0];
    expect(lost === undefined).toBe(stage === 'RCPT');
    if (lost !== undefined) expect(readingOf(deps).verify(lost)).toBeNull();
  },
  30_000,
);
