import { afterAll } from 'bun:test';
import { closeReader, endView, openReader, type Reader } from '../../shared/db/reader.ts';
import type { Deps } from '../../shared/deps.ts';
import { prepareVerifier, type Verifier } from '../../shared/keys/verify.ts';
import { type Leaderboard, prepareLeaderboard } from '../../shared/profiles/leaderboard/leaderboard.ts';
import { prepareProfiles } from '../../shared/profiles/lookup/cache.ts';
import { type Lookup, prepareLookup } from '../../shared/profiles/lookup/lookup.ts';

/** A reader that counts how often its statements read profiles, names or links; closed when the test file is done. */
export function countingReader(databasePath: string): { reader: Reader; reads: () => number } {
  let reads = 0;
  const opened = openReader(databasePath);
  afterAll(() => closeReader(opened));
  const counting = (statement: ReturnType<Reader['sqlite']['prepare']>) =>
    new Proxy(statement, {
      get: (of, name) => {
        const value = Reflect.get(of, name);
        if (typeof value !== 'function') return value;
        return (...values: unknown[]) => {
          if (['get', 'all', 'values'].includes(String(name))) reads++;
          return value.apply(of, values);
        };
      },
    });
  const sqlite = new Proxy(opened.sqlite, {
    get: (of, name) => {
      const value = Reflect.get(of, name);
      if (name === 'prepare') {
        return (sql: string) => {
          const statement = of.prepare(sql);
          return /FROM (profiles|profile_names|links)\b/.test(sql) ? counting(statement) : statement;
        };
      }
      return typeof value === 'function' ? value.bind(of) : value;
    },
  });
  return { reader: Object.assign(opened, { sqlite }), reads: () => reads };
}

/** Everything with which a server reads. Each call sees all commits before it, as if in a separate turn. */
export function readingOf({ db, clock }: Pick<Deps, 'db' | 'clock'>) {
  const reader = openReader(db.$client.filename);
  afterAll(() => closeReader(reader));
  const sources = prepareProfiles(reader);
  const withNewView = <Of extends unknown[], T>(act: (...of: Of) => T) => {
    return (...of: Of): T => {
      endView(reader);
      return act(...of);
    };
  };
  const { profile, links, many } = prepareLookup(reader, sources);
  const verify: Verifier = withNewView(prepareVerifier(reader, clock));
  const lookup: Lookup = { profile: withNewView(profile), links: withNewView(links), many: withNewView(many) };
  const leaderboard: Leaderboard = withNewView(prepareLeaderboard(reader, sources));
  return { reader, verify, lookup, leaderboard };
}
