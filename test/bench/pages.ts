import { test } from 'bun:test';
import { DAY_MS } from '../../shared/clock.ts';
import type { Db } from '../../shared/db/connect.ts';
import { write } from '../../shared/db/write.ts';
import { storeSearchTexts } from '../../shared/keys/search.ts';
import { issue, keyIn } from '../support/keys.ts';
import { adminPages, signInOwner } from '../support/pages.ts';
import { importLines } from '../support/profiles.ts';
import { median } from './measure.ts';
import { lineOf, usernameOf } from './profiles.ts';

// `bun test ./test/bench/pages.ts` prints how many milliseconds each page takes, in which the server answers nothing else, on a
// database with a million profiles, ten thousand keys and a year of usage. They include the client, which shares the thread.
// Making that database takes longer than 200 s; PROFILES=50000 KEYS=2000 takes 30.

const [profiles, keys] = [Number(process.env.PROFILES ?? 1_000_000), Number(process.env.KEYS ?? 10_000)];
const FIRST_ID = 100;
const PENDING = 200;
const USAGE_DAYS = 365;
const TIMES = 15;

const idOf = (at: number) => FIRST_ID + Math.floor((at * profiles) / keys);
const identifierOf = (at: number) => `k${`${at}`.padStart(7, '0')}`;

/** Inserts a pending request of a profile with this identifier; its other columns are copied from a stored key. */
function insertKeyAs(db: Db, identifier: string, profileId: number, template: string): void {
  db.$client.run(
    `INSERT INTO api_keys (identifier, profile_id, name, description, state, requested_permissions, requested_at)
       SELECT ?, ?, name, description, 'pending', requested_permissions, requested_at FROM api_keys WHERE identifier = ?`,
    [identifier, profileId, template],
  );
}

/** Copies an Active key with its history for another profile, with another secret, which nobody knows. */
function copyKey(db: Db, template: string, identifier: string, profileId: number): void {
  insertKeyAs(db, identifier, profileId, template);
  const granted = 'state, permissions, rate_limits, decided_at, expires_at, attempt_number';
  db.$client.run(
    `UPDATE api_keys SET (${granted}, secret_hash) =
       (SELECT ${granted}, randomblob(32) FROM api_keys WHERE identifier = ?) WHERE identifier = ?`,
    [template, identifier],
  );
  for (const [table, id, columns] of [
    [
      'key_attempts',
      'identifier',
      'number, by, by_kind, started_at, lease_ends_at, address, permissions, rate_limits, result',
    ],
    ['events', 'about', 'at, by, by_kind, subject, event, data'],
  ]) {
    db.$client.run(`INSERT INTO ${table} (${id}, ${columns}) SELECT ?, ${columns} FROM ${table} WHERE ${id} = ?`, [
      identifier,
      template,
    ]);
  }
}

test('pages', async () => {
  const { access, clock, get, grace } = await adminPages();
  for (let at = 0; at < profiles; at += 10_000) {
    const ids = Array.from({ length: Math.min(10_000, profiles - at) }, (_, place) => FIRST_ID + at + place);
    await importLines(
      access,
      ids.map((id) => ({ ...JSON.parse(lineOf(id)), email: `owner${id}@example.org`, banned: false })),
    );
  }
  const { identifier: active } = await issue(access, { profile: usernameOf(FIRST_ID) });
  const pending = await keyIn('pending', { ...access, clock }, 'ada');
  write(access.db, (tx) => {
    for (let at = 1; at < keys; at++) {
      if (at % (keys / PENDING) === 0) insertKeyAs(access.db, identifierOf(at), idOf(at), pending);
      else copyKey(access.db, active, identifierOf(at), idOf(at));
      storeSearchTexts(tx, idOf(at));
    }
    access.db.$client.run(
      `WITH RECURSIVE days (ago) AS (SELECT 0 UNION ALL SELECT ago + 1 FROM days WHERE ago < ?)
       INSERT INTO key_usage (identifier, day, ok, not_found, forbidden, malformed, limited, failed, last_used_at)
       SELECT identifier, ? - ago, 900, 10, 0, 1, 5, 0, ? - ago * ? FROM api_keys, days WHERE state = 'Active'`,
      [USAGE_DAYS - 1, Math.floor(clock.nowMs() / DAY_MS), clock.nowMs(), DAY_MS],
    );
    access.db.$client.run(
      `INSERT INTO usage_days SELECT day, sum(ok), sum(not_found), sum(forbidden), sum(malformed), sum(limited), sum(failed)
         FROM key_usage GROUP BY day`,
    );
  });
  const admin = (path: string) => ({ path: `/developers/admin${path}`, cookie: grace.cookie });
  const own = (path: string) => ({ path: `/developers${path}`, cookie: signInOwner(access, FIRST_ID) });
  const [waiting, used, owner] = [identifierOf(keys / 2), identifierOf(keys / 2 + 1), idOf(keys / 2)];
  for (const { path, cookie } of [
    ...[admin(''), admin('?choose=all'), admin(`/keys/${waiting}`), admin(`/keys/${used}`)],
    ...[admin('/keys'), admin('/keys?state=Active'), admin('/keys?find=nothing+like+this')],
    ...[admin(`/keys?find=${usernameOf(owner)}`), admin(`/keys?find=owner${owner}@example.org`)],
    ...[admin('/overview'), admin('/log'), admin(`/log?key=${used}`), admin('/log?by=nobody')],
    ...[admin('/people')],
    ...[own('/keys'), own('/keys/new'), own(`/keys/${active}`), own('/sessions')],
  ]) {
    const ms: number[] = [];
    for (let at = 0; at <= TIMES; at++) {
      const before = performance.now();
      const { status } = await get(path, cookie);
      if (status !== 200) throw new Error(`${path} returned ${status}`);
      ms.push(performance.now() - before);
    }
    const [first, ...rest] = ms as [number, ...number[]];
    const figures = `${median(rest).toFixed(1)} ms, first ${first.toFixed(1)}, longest ${Math.max(...rest).toFixed(1)}`;
    process.stdout.write(`${path.replace('/developers', '').padEnd(44)} ${figures}\n`);
  }
}, 3_600_000);
