import { describe, expect, test } from 'bun:test';
import { DAY_MS, SETTLE_MS } from '../../../shared/clock.ts';
import type { Purpose } from '../../../shared/sessions-file/schema.ts';
import { tickets } from '../../../shared/sessions-file/schema.ts';
import { writeSessions } from '../../../shared/sessions-file/sessions-file.ts';
import { hashOf } from '../../../shared/sessions-file/tokens.ts';
import type { Signed } from '../../../shared/sessions-file/whose.ts';
import { isAnyOf } from '../../../shared/sessions-file/whose.ts';
import { sweepSessions } from '../../../shared/sign-in/sweep.ts';
import { PURPOSES, purposesWith, rulesOf } from '../../../shared/tickets/purposes.ts';
import { endTickets, findTicket, makeTicket, readTicket, useTicket } from '../../../shared/tickets/tickets.ts';
import { testAccess } from '../../support/portal/access.ts';
import { countTickets } from '../../support/portal/sessions-rows.ts';
import { testClock } from '../../support/world.ts';

// What holds for one-time secrets of every purpose, by the table of purposes.

const GRACE: Signed = { kind: 'admin', name: 'Grace', generation: 1 };
const JOAN: Signed = { kind: 'admin', name: 'Joan', generation: 1 };
const ALL = Object.keys(PURPOSES) as Purpose[];

function world(purpose: Purpose) {
  const clock = testClock();
  const access = testAccess({ clock });
  const isProven = rulesOf(purpose).tries !== null;
  const keyOf = (secret: string, code = 'right') => ({
    purpose,
    foundBy: hashOf(secret),
    ...(isProven && { proof: hashOf(secret, code) }),
  });
  const write = <T>(act: (tables: typeof access.sessions.tables, nowMs: number) => T) =>
    writeSessions(access.sessions, (tables) => act(tables, clock.nowMs()));
  return {
    access,
    clock,
    keyOf,
    isProven,
    make: (secret: string, signed = GRACE, about = 'this') =>
      write((tables, nowMs) => makeTicket(tables, keyOf(secret), { signed, about }, nowMs)),
    use: (secret: string, code?: string) => write((tables, nowMs) => useTicket(tables, keyOf(secret, code), nowMs)),
    read: (secret: string) => write((tables, nowMs) => readTicket(tables, keyOf(secret), nowMs)),
    find: (secret: string) => write((tables) => findTicket(tables, keyOf(secret))),
    end: (signed: Signed) => write((tables) => endTickets(tables, isAnyOf(tickets, signed))),
    sweep: () => sweepSessions(access.db, clock, access.sessions),
  };
}

describe.each(ALL)('%s', (purpose) => {
  const { lifetimeMs, tries, keptMs = 0, letsIn = false, isReplaced = false } = rulesOf(purpose);

  test('works once, and says whose it is and what for', () => {
    const { make, use, read } = world(purpose);
    make('one');
    make('two', JOAN, 'that');
    expect(read('one')).toMatchObject({ signed: GRACE, about: 'this' });
    expect(use('two')).toMatchObject({ signed: JOAN, about: 'that' });
    expect([use('two'), read('two'), use('three')]).toEqual([null, null, null]);
    expect(use('one')).toMatchObject({ signed: GRACE });
  });

  test('works until its time is over, and not where the clock was set back by more than a minute', () => {
    const { make, use, clock } = world(purpose);
    const untilMs = make('last');
    expect(untilMs).toBe(clock.nowMs() + lifetimeMs);
    for (const secret of ['late', 'back', 'little']) make(secret);
    clock.jump(-60_000);
    expect(use('little')).not.toBeNull();
    clock.jump(-1);
    expect(use('back')).toBeNull();
    clock.jump(60_000 + lifetimeMs);
    expect(use('last')).not.toBeNull();
    clock.jump(1);
    expect(use('late')).toBeNull();
  });

  test('is deleted when nobody needs it any more, and at once where it lies ahead of a settled clock', () => {
    const { access, make, use, find, sweep, clock } = world(purpose);
    make('used');
    use('used');
    clock.advance(Math.max(lifetimeMs, keptMs) - 1);
    sweep();
    expect(find('used')).not.toBeNull();
    clock.advance(1);
    sweep();
    expect(countTickets(access.sessions, purpose)).toBe(0);
    make('ahead');
    clock.jump(-SETTLE_MS - 60_001);
    sweep();
    expect(countTickets(access.sessions, purpose)).toBe(1);
    clock.advance(SETTLE_MS);
    sweep();
    expect(countTickets(access.sessions, purpose)).toBe(0);
  });

  test('that was not used ends with all sign-ins of its person where it lets somebody in, and nobody else’s does', () => {
    const { make, use, find, end } = world(purpose);
    for (const secret of ['open', 'used']) make(secret);
    make('others', JOAN);
    use('used');
    end(GRACE);
    expect(['open', 'used', 'others'].map((secret) => find(secret) !== null)).toEqual([!letsIn, true, true]);
  });

  if (tries !== null)
    test('is found by its secret, where it may be tried so often, by whomever', () => {
      const { make, use, read } = world(purpose);
      for (const secret of ['kept', 'spent', 'others']) make(secret);
      for (let times = 1; times < (tries ?? 0); times++) {
        for (const secret of ['kept', 'spent']) expect(use(secret, 'wrong')).toBeNull();
      }
      expect(use('spent', 'wrong')).toBeNull();
      expect([use('spent'), read('spent')]).toEqual([null, null]);
      expect([use('kept'), use('others')]).not.toContain(null);
    });

  if (tries === null)
    test('is used by nobody who forgets its proof, where it has one', () => {
      const { access, keyOf, clock } = world(purpose);
      const proven = { ...keyOf('secret'), proof: hashOf('secret', 'right') };
      const use = (key: Parameters<typeof useTicket>[1]) =>
        writeSessions(access.sessions, (tables) => useTicket(tables, key, clock.nowMs()));
      writeSessions(access.sessions, (tables) => makeTicket(tables, proven, { signed: GRACE }, clock.nowMs()));
      expect(use(keyOf('secret'))).toBeNull();
      expect(use(proven)).not.toBeNull();
    });

  if (isReplaced)
    test('gives way to a new one that is found by the same', () => {
      const { access, make, find } = world(purpose);
      make('same', GRACE, 'first');
      make('same', GRACE, 'second');
      expect([find('same')?.about, countTickets(access.sessions, purpose)]).toEqual(['second', 1]);
    });
});

test('only codes to be typed can be guessed; each is tried five times at most, within ten minutes', () => {
  expect(purposesWith(({ tries }) => tries !== null)).toEqual(['sign-in code', 'login code']);
  for (const purpose of ['sign-in code', 'login code'] as const) {
    expect(PURPOSES[purpose]).toMatchObject({ tries: 5, lifetimeMs: 600_000 });
  }
  expect(PURPOSES['used challenge'].lifetimeMs).toBe(DAY_MS);
});
