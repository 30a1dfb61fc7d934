import { describe, expect, test } from 'bun:test';
import { showKey } from '../../../shared/keys/view.ts';
import { profilectl } from '../../support/cli.ts';
import { approveKey, mailedSecrets, request } from '../../support/keys.ts';
import { type SmtpFault, type SmtpStage, startBrokenSmtp } from '../../support/mail.ts';
import { insertProfile } from '../../support/profiles.ts';
import { readingOf } from '../../support/reading.ts';
import { onBox, testDeps } from '../../support/world.ts';

// A mail server that fails, seen by an admin who runs `profilectl keys approve`: the exit code, the sentence on stderr, and
// the state of the key.

const deps = testDeps();
const { verify } = readingOf(deps);
let nextId = 1;

async function newKey(): Promise<string> {
  insertProfile(deps.db, { id: nextId });
  return await request(deps, { profile: `user${nextId++}` });
}

type Case = {
  stage: SmtpStage;
  fault: SmtpFault;
  code: 1 | 75;
  result: 'refused' | 'not confirmed';
  sentence: RegExp;
};

/** A case for each outcome; test/shared/mail/ has all faults of mail servers. */
const CASES: Case[] = [
  {
    stage: 'RCPT',
    fault: '550 5.1.1 no such user',
    code: 1,
    result: 'refused',
    sentence: /refused RCPT .*check the recipient's e-mail address/,
  },
  {
    stage: 'dot',
    fault: '452 4.2.2 full',
    code: 75,
    result: 'refused',
    sentence: /refused DATA .*try again later/,
  },
  {
    stage: 'dot',
    fault: 'close',
    code: 75,
    result: 'not confirmed',
    sentence: /Delivery is not confirmed: .* stays pending, .* will never work\. Approve again to send a new one\./,
  },
];

/** The key is pending and can be approved again at once; of all mailed secrets only the last one works. */
async function expectApprovable(identifier: string, content: string): Promise<void> {
  const lost = content.match(new RegExp(`plk_${identifier}_[0-9A-Za-z]{38}`, 'g')) ?? [];
  for (const secret of lost) expect(verify(secret)).toBeNull();
  await approveKey(deps, { identifier, grant: {}, by: onBox('admin') });
  expect(showKey(deps, identifier)).toMatchObject({ state: 'Active', attempt: { number: 2, result: 'accepted' } });
  for (const secret of lost) expect(verify(secret)).toBeNull();
  expect(mailedSecrets(deps, identifier).map((secret) => verify(secret)?.identifier)).toEqual([identifier]);
}

describe('the error says what to do, and the key is still pending', () => {
  for (const { stage, fault, code, result, sentence } of CASES) {
    test(`${fault} at ${stage}: ${code}, ${result}`, async () => {
      const identifier = await newKey();
      const { port, content } = await startBrokenSmtp({ [stage]: fault });
      const variables = {
        DATABASE_PATH: deps.config.databasePath,
        MAIL_URL: `smtp://127.0.0.1:${port}`,
        MAIL_FROM: 'keys@example.net',
      };
      const done = await profilectl(['keys', 'approve', identifier], { variables });
      expect(done).toEqual({ code, stdout: '', stderr: expect.stringMatching(sentence) });
      expect(done.stderr).toContain('The mail server ');
      expect(done.stderr).toContain(result === 'refused' ? `Key ${identifier} is still pending.` : identifier);
      expect(done.stderr).not.toMatch(/@|plk_/);
      expect(showKey(deps, identifier)).toMatchObject({ state: 'pending', attempt: { number: 1, result } });
      await expectApprovable(identifier, content());
    }, 30_000);
  }
});
