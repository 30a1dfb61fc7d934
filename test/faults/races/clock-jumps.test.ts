import { describe, expect, test } from 'bun:test';
import { addAdmin } from '../../../shared/admins/admins.ts';
import { DAY_MS, SETTLE_MS } from '../../../shared/clock.ts';
import { dropErasedProfiles } from '../../../shared/db/erasures.ts';
import { expireKeys } from '../../../shared/keys/life/expire.ts';
import { revokeKey } from '../../../shared/keys/life/lifecycle.ts';
import { USAGE_DAYS } from '../../../shared/keys/usage-outcomes.ts';
import { showKey } from '../../../shared/keys/view.ts';
import { invite, readEnrolment } from '../../../shared/passkeys/enrolments.ts';
import type { Signed } from '../../../shared/sessions-file/whose.ts';
import { enterCode, requestCode } from '../../../shared/sign-in/codes.ts';
import { enterHandOver, handOver } from '../../../shared/sign-in/hand-over.ts';
import { sweepSessions } from '../../../shared/sign-in/sweep.ts';
import { ownerToSign } from '../../../shared/sign-ins/binding.ts';
import { beginSignIn, listSignIns, noteUse, readSignIn } from '../../../shared/sign-ins/sign-ins.ts';
import { PURPOSES } from '../../../shared/tickets/purposes.ts';
import { openUsage, saveUsage } from '../../../shared/usage/usage.ts';
import { countUsage } from '../../../shared/usage/usage-counter.ts';
import { keyUsage } from '../../../shared/usage/usage-view.ts';
import { onBox } from '../../support/actors.ts';
import { eraseProfile } from '../../support/erase.ts';
import { importLines } from '../../support/import.ts';
import { issue } from '../../support/keys.ts';
import { sendDueMails } from '../../support/mail/due.ts';
import { CLIENT, countingCodes, openerFor, testAccess } from '../../support/portal/access.ts';
import { secretOf } from '../../support/portal/admins.ts';
import { readingOf } from '../../support/reading.ts';
import { rounds, seededRandom } from '../../support/rounds.ts';
import { testClock } from '../../support/world.ts';

// A clock that is wrong for a short time loses nothing. What seems to have expired is refused at once, but it is
// deleted, abandoned or stored as expired only after the clock has been plausible for ten minutes.

const MINUTE_MS = 60_000;
const ADA = { id: 1, username: 'ada', email: 'ada@example.org' };
const BOB = { id: 2, username: 'bob', email: 'bob@example.org' };

/** By how much the clock is ahead: seconds to years. By default a test takes one of them, in `test:long` all. */
const JUMPS_MS = [5_000, MINUTE_MS, 3_600_000, DAY_MS, 200 * DAY_MS, 420 * DAY_MS, 20 * 365 * DAY_MS];

/** A service with two owners and a key. `stir` does all of its background work, except for Ada. */
async function makeWorld() {
  const clock = testClock();
  const codes = countingCodes();
  const access = testAccess({ clock, random: codes.random, variables: { PUBLIC_URL: 'http://localhost:3000' } });
  await importLines(access, [ADA, BOB]);
  const usage = openUsage(access.config.databasePath, clock, () => {});
  const { identifier } = await issue(access, { profile: 'ada' });
  let stirred = 0;
  const stir = async () => {
    const client = { ...CLIENT, address: `203.0.113.${stirred++ % 250}` };
    requestCode(access, { name: 'bob', address: BOB.email, browserSecret: null, knownBrowser: null, client });
    handOver(access, { uid: BOB.id }, openerFor(access));
    invite(access, 'bob', 1);
    sweepSessions(access.db, clock, access.sessions);
    countUsage(usage.counter, { identifier }, null);
    expect(saveUsage(usage)).toBe('saved');
    expireKeys(access);
    dropErasedProfiles(access.db, clock);
    await sendDueMails({ ...access, mailer: async () => null }, () => {}, false);
  };
  return { access, clock, codes, usage, identifier, stir };
}

type World = Awaited<ReturnType<typeof makeWorld>>;

/** Whether something works; a refusal is an error with a code. */
function works(act: () => unknown): boolean {
  try {
    act();
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: expect.any(String) });
    return false;
  }
}

/**
 * Something that expires after a time. `make` makes it and returns a function that checks whether it still works or
 * is still listed (with `isStored`: is still stored), which may use it up.
 */
type Expiring = {
  name: string;
  lifeMs: number;
  isStored?: true;
  make: (world: World) => (() => boolean) | Promise<() => boolean>;
};

const EXPIRING: Expiring[] = [
  {
    name: 'a key that expires',
    lifeMs: 90 * DAY_MS,
    make: async ({ access, clock }) => {
      const grant = { expiresAtMs: clock.nowMs() + 90 * DAY_MS };
      const { secret, identifier } = await issue(access, { profile: 'bob' }, grant);
      const { verify } = readingOf(access);
      return () => verify(secret) !== null && showKey(access, identifier).state === 'Active';
    },
  },
  {
    name: 'a session that is listed for 30 days after its end',
    lifeMs: 31 * DAY_MS,
    make: ({ access }) => {
      const signed = ownerToSign(access, ADA.id) as Signed;
      beginSignIn(access, signed, CLIENT);
      return () => listSignIns(access, signed).length === 1;
    },
  },
  {
    name: 'a mailed code',
    lifeMs: PURPOSES['sign-in code'].lifetimeMs,
    make: ({ access, codes }) => {
      const typed = { name: 'ada', address: ADA.email, client: CLIENT, knownBrowser: null };
      const { browserSecret } = requestCode(access, { ...typed, browserSecret: null });
      const code = codes.lastCode();
      return () => enterCode(access, { browserSecret, code, knownBrowser: null, client: CLIENT }).isSignedIn;
    },
  },
  {
    name: 'a hand-over ticket',
    lifeMs: PURPOSES['hand-over'].lifetimeMs,
    make: ({ access }) => {
      const { address } = handOver(access, { uid: ADA.id }, openerFor(access));
      const ticket = new URL(address).searchParams.get('ticket') ?? '';
      return () => works(() => enterHandOver(access, ticket, null, CLIENT));
    },
  },
  {
    name: 'the link where an admin registers a passkey',
    lifeMs: 15 * MINUTE_MS,
    make: ({ access }) => {
      const secret = secretOf(addAdmin(access, 'grace', onBox('root')).address);
      return () => works(() => readEnrolment(access, secret));
    },
  },
  {
    name: 'the count of an owner’s mails',
    lifeMs: DAY_MS,
    isStored: true,
    make: ({ access, clock }) => {
      const { sqlite } = access.sessions;
      const ask = () =>
        requestCode(access, {
          name: 'ada',
          address: ADA.email,
          browserSecret: null,
          knownBrowser: null,
          client: CLIENT,
        });
      const counted = sqlite.query('SELECT count(*) AS n FROM mail_counts WHERE at = ?');
      const atMs = clock.nowMs();
      ask();
      return () => (counted.get(atMs) as { n: number }).n > 0;
    },
  },
  {
    name: 'the usage of a key',
    lifeMs: USAGE_DAYS * DAY_MS,
    make: ({ access, usage, identifier }) => {
      countUsage(usage.counter, { identifier }, 'not_found');
      saveUsage(usage);
      return () => keyUsage(access, identifier, USAGE_DAYS).days.some(({ notFound }) => notFound > 0);
    },
  },
  {
    name: 'the UID of an erased profile',
    lifeMs: 40 * DAY_MS,
    isStored: true,
    make: ({ access }) => {
      eraseProfile(access, 'ada', onBox('root'));
      return () => access.db.$client.query('SELECT 1 FROM erased_profiles WHERE id = ?').get(ADA.id) !== null;
    },
  },
  {
    name: 'a mail that its mail server does not accept',
    lifeMs: 3 * DAY_MS,
    isStored: true,
    make: ({ access, identifier }) => {
      revokeKey(access, { identifier, reason: 'No longer needed.', by: onBox('admin') });
      return () => access.db.$client.query("SELECT 1 FROM mails WHERE result = 'waiting'").get() !== null;
    },
  },
];

/** Some of the jumps, at random. */
function someJumps(name: string): number[] {
  const random = seededRandom(name);
  const order = JUMPS_MS.map((jumpMs) => ({ jumpMs, by: random() })).sort((a, b) => a.by - b.by);
  const all = JUMPS_MS.length;
  return order.slice(0, rounds(all) === all ? all : 1).map(({ jumpMs }) => jumpMs);
}

describe.each(EXPIRING)('$name', ({ name, lifeMs, make }) => {
  test('still exists after the clock was ahead for less than ten minutes', async () => {
    for (const jumpMs of someJumps(`${name}, briefly ahead`)) {
      const world = await makeWorld();
      const { clock, stir } = world;
      const isThere = await make(world);
      const heldMs = Math.min(9 * MINUTE_MS, lifeMs / 4);
      clock.advance(lifeMs - heldMs - Math.min(jumpMs / 2, lifeMs / 4));
      await stir();
      clock.jump(jumpMs);
      for (let turn = 0; turn < 4; turn++) {
        await stir();
        clock.advance(heldMs / 4);
      }
      await stir();
      clock.jump(-jumpMs);
      await stir();
      expect({ jumpMs, isThere: isThere() }).toEqual({ jumpMs, isThere: true });
    }
  });

  test('is gone after the clock was ahead for ten minutes', async () => {
    for (const jumpMs of someJumps(`${name}, ahead for long`)) {
      const world = await makeWorld();
      const { clock, stir } = world;
      const isThere = await make(world);
      clock.advance(Math.max(0, lifeMs - Math.min(jumpMs / 2, lifeMs / 4) - SETTLE_MS));
      clock.jump(jumpMs);
      await stir();
      clock.advance(SETTLE_MS);
      await stir();
      clock.jump(-jumpMs);
      await stir();
      expect({ jumpMs, isThere: isThere() }).toEqual({ jumpMs, isThere: false });
    }
  });
});

test.each(EXPIRING.filter(({ isStored }) => isStored !== true))(
  '$name is refused at once',
  async ({ lifeMs, make }) => {
    const world = await makeWorld();
    const isThere = await make(world);
    world.clock.jump(lifeMs);
    expect(isThere()).toBe(false);
  },
);

test('a session that is used while the clock is ahead is still valid afterwards', async () => {
  const { access, clock } = await makeWorld();
  const { token, signIn } = beginSignIn(access, ownerToSign(access, ADA.id) as Signed, CLIENT);
  clock.jump(3_600_000);
  expect(readSignIn(access, token)?.id).toBe(signIn.id);
  noteUse(access, signIn);
  clock.jump(-3_600_000);
  expect(readSignIn(access, token)?.id).toBe(signIn.id);
});
