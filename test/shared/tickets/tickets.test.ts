import { describe, expect, test } from 'bun:test';
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

// The rules for one-time secrets of every purpose, from the table of purposes.

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
  const write = <T>(act: (db: typeof access.sessions.db, nowMs: number) => T) =>
    writeSessions(access.sessions, (db) => act(db, clock.nowMs()));
  return {
    access,
    clock,
    keyOf,
    isProven,
    make: (secret: string, signed = GRACE, about = 'this') =>
      write((db, nowMs) => makeTicket(db, keyOf(secret), { signed, about }, nowMs)),
    use: (secret: string, code?: string) => write((db, nowMs) => useTicket(db, keyOf(secret, code), nowMs)),
    read: (secret: string) => write((db, nowMs) => readTicket(db, keyOf(secret), nowMs)),
    find: (secret: string) => write((db) => findTicket(db, keyOf(secret))),
    end: (signed: Signed) => write((db) => endTickets(db, isAnyOf(tickets, signed))),
    sweep: () => sweepSessions(access.db, clock, access.sessions),
  };
}

describe.each(ALL)('%s', (purpose) => {
  const { lifetimeMs, tries, keptMs = 0, givesAccess = false, isReplaced = false } = rulesOf(purpose);

  test('can be used once, and returns its person and subject', () => {
    const { make, use, read } = world(purpose);
    make('one');
    make('two', JOAN, 'that');
    expect(read('one')).toMatchObject({ signed: GRACE, about: 'this' });
    expect(use('two')).toMatchObject({ signed: JOAN, about: 'that' });
    expect([use('two'), read('two'), use('three')]).toEqual([null, null, null]);
    expect(use('one')).toMatchObject({ signed: GRACE });
  });

  test('is valid until it expires', () => {
    const { make, use, clock } = world(purpose);
    const untilMs = make('last');
    expect(untilMs).toBe(clock.nowMs() + lifetimeMs);
    make('late');
    clock.jump(lifetimeMs - 1);
    expect(use('last')).not.toBeNull();
    clock.jump(1);
    expect(use('late')).toBeNull();
  });

  test('is deleted when it is no longer needed', () => {
    const { access, make, use, find, sweep, clock } = world(purpose);
    make('used');
    use('used');
    clock.advance(Math.max(lifetimeMs, keptMs) - 1);
    sweep();
    expect(find('used')).not.toBeNull();
    clock.advance(1);
    sweep();
    expect(countTickets(access.sessions, purpose)).toBe(0);
  });

  test('ends with all sign-ins of its person if it is unused and leads to a sign-in; other people’s stay', () => {
    const { make, use, find, end } = world(purpose);
    for (const secret of ['open', 'used']) make(secret);
    make('others', JOAN);
    use('used');
    end(GRACE);
    expect(['open', 'used', 'others'].map((secret) => find(secret) !== null)).toEqual([!givesAccess, true, true]);
  });

  if (tries !== null)
    test('can be tried a limited number of times, whoever tries; other tickets stay valid', () => {
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
    test('can’t be used without its proof if it has one', () => {
      const { access, keyOf, clock } = world(purpose);
      const proven = { ...keyOf('secret'), proof: hashOf('secret', 'right') };
      const use = (key: Parameters<typeof useTicket>[1]) =>
        writeSessions(access.sessions, (db) => useTicket(db, key, clock.nowMs()));
      writeSessions(access.sessions, (db) => makeTicket(db, proven, { signed: GRACE }, clock.nowMs()));
      expect(use(keyOf('secret'))).toBeNull();
      expect(use(proven)).not.toBeNull();
    });

  if (isReplaced)
    test('is replaced by a new one with the same key', () => {
      const { access, make, find } = world(purpose);
      make('same', GRACE, 'first');
      make('same', GRACE, 'second');
      expect([find('same')?.about, countTickets(access.sessions, purpose)]).toEqual(['second', 1]);
    });
});

test('only codes that are typed can be guessed; each allows 5 tries', () => {
  expect(purposesWith(({ tries }) => tries !== null)).toEqual(['sign-in code']);
  expect(PURPOSES['sign-in code'].tries).toBe(5);
});

test('every purpose has the lifetime that is documented, in minutes', () => {
  const minutes = Object.entries(PURPOSES).map(([purpose, { lifetimeMs }]) => [purpose, lifetimeMs / 60_000]);
  expect(Object.fromEntries(minutes)).toEqual({
    'sign-in code': 10,
    'hand-over': 1,
    enrolment: 15,
    registration: 5,
    'used challenge': 24 * 60,
  });
});
