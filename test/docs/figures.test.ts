import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SEND_BUFFER_BYTES } from '../../server/http/send-buffer-limit.ts';
import { FAILURES } from '../../server/http/throttle.ts';
import { DAY_MS, SETTLE_MS } from '../../shared/clock.ts';
import { KEPT_AFTER_ERASURE_MS } from '../../shared/db/erasures.ts';
import { APPROVAL_LEASE_MS } from '../../shared/deps.ts';
import { LONGEST_PAUSE_MS, MAX_AGE_MS, WEBHOOK_EVERY_MS } from '../../shared/outbox/retry-policy.ts';
import { MAX_DECISIONS } from '../../shared/passkeys/decision.ts';
import { FEED_LIMITS } from '../../shared/profiles/import/feed.ts';
import { MAX_BODY_BYTES } from '../../shared/profiles/lookup/body.ts';
import { MAIL_LIMITS } from '../../shared/sign-in/mail-limits.ts';
import { PERIODS, SHOWN_AFTER_END_MS } from '../../shared/sign-ins/periods.ts';
import { MAX_CHALLENGES, MAX_LOGINS, PURPOSES } from '../../shared/tickets/purposes.ts';
import { PROJECT } from '../support/cli.ts';

// The figures in the documents' sentences are those of the code. test/docs.test.ts compares tables.

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const MIB = 1024 * 1024;

/** A number as the documents write it: 1,000. */
const written = (count: number) => count.toLocaleString('en-US');
const minutes = (ms: number) => ms / MINUTE_MS;
const hours = (ms: number) => ms / HOUR_MS;
const days = (ms: number) => ms / DAY_MS;
const inWords = (count: number) =>
  ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'][count];

const { browser, profilectl } = PERIODS;
const [perMinute, perHour, perDay] = MAIL_LIMITS.pair;
const { whole, partial } = FEED_LIMITS;

test.each([
  [
    'api',
    [
      `After ${FAILURES.quota} requests without a working key or token within a minute`,
      `A response has at most ${MAX_BODY_BYTES / MIB} MiB`,
      `at most ${SEND_BUFFER_BYTES.key / MIB} MiB of unread big responses per key, and ${SEND_BUFFER_BYTES.all / MIB} MiB in all`,
    ],
  ],
  [
    'developer-platform',
    [
      `It works once, for ${minutes(PURPOSES['sign-in code'].lifetimeMs)} minutes, in the browser`,
      `works once, for ${minutes(PURPOSES.enrolment.lifetimeMs)} minutes, and registers a passkey`,
      `valid once, within ${inWords(minutes(PURPOSES.decision.lifetimeMs))} minutes`,
      `Up to ${MAX_DECISIONS} requests can be decided together`,
      `can allow \`profilectl\` ${MAX_LOGINS.day} times a day`,
      `| ${MAX_LOGINS.person} per person (the next replaces the oldest), ${written(MAX_LOGINS.all)} in all |`,
      `| ${hours(browser.owner.idleMs)} hours after its last use, ${days(browser.owner.maxMs)} days at most |`,
      `| ${minutes(browser.admin.idleMs)} minutes after its last use, ${hours(browser.admin.maxMs)} hours at most |`,
      `| ${MAX_CHALLENGES} a minute for each admin`,
      `Ended sessions and tokens are shown for ${days(SHOWN_AFTER_END_MS)} days`,
    ],
  ],
  ['erasing', [`are kept for ${days(KEPT_AFTER_ERASURE_MS)} days`]],
  [
    'keys',
    [`After a crash, an open approval is *not confirmed* within ${inWords(minutes(APPROVAL_LEASE_MS))} minutes`],
  ],
  [
    'mail',
    [
      `e-mail address to ${perMinute.max} a minute, ${perHour.max} an hour and ${perDay.max} a day`,
      `to ${MAIL_LIMITS.network[0].max} an hour, per /48 to ${MAIL_LIMITS.wideNetwork[0].max}`,
      `to ${written(MAIL_LIMITS.sent[0].max)} an hour in all`,
      `then after delays that double up to ${inWords(hours(LONGEST_PAUSE_MS))} hours, for ${inWords(days(MAX_AGE_MS))} days`,
      `at most one every ${inWords(WEBHOOK_EVERY_MS / 1000)} seconds`,
    ],
  ],
  [
    'manage',
    [
      `| ${written(whole.lines)} lines and ${whole.bytes / MIB} MiB | ${written(partial.lines)} lines and ${partial.bytes / MIB} MiB |`,
      `works for ${minutes(PURPOSES['login code'].lifetimeMs)} minutes and ${inWords(PURPOSES['login code'].tries)} tries`,
      `It works once, for ${PURPOSES['hand-over'].lifetimeMs / 1000} seconds`,
    ],
  ],
  ['operating', [`monotonic clock for ${inWords(minutes(SETTLE_MS))} minutes`]],
  [
    'remote',
    [
      `| ${days(profilectl.owner.idleMs)} days without use, ${days(profilectl.owner.maxMs)} at most |`,
      `| ${hours(profilectl.admin.maxMs)} hours | read;`,
    ],
  ],
] as const)('the figures of docs/%s.md are those of the code', (name, sentences) => {
  const text = readFileSync(join(PROJECT, `docs/${name}.md`), 'utf8').replace(/\s+/g, ' ');
  expect(sentences.filter((sentence) => !text.includes(sentence))).toEqual([]);
});
