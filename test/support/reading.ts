import { afterAll } from 'bun:test';
import { closeReader, endView, openReader } from '../../shared/db/reader.ts';
import type { Deps } from '../../shared/deps.ts';
import { prepareVerifier, type Verifier } from '../../shared/keys/verify.ts';
import { type Leaderboard, prepareLeaderboard } from '../../shared/profiles/board.ts';
import { type Lookup, prepareLookup } from '../../shared/profiles/lookup.ts';

/** Everything with which a server reads. Each call sees all commits before it, as if in a separate turn. */
export function readingOf({ db, clock }: Pick<Deps, 'db' | 'clock'>) {
  const reader = openReader(db.$client.filename);
  afterAll(() => closeReader(reader));
  const withNewView = <Of extends unknown[], T>(act: (...of: Of) => T) => {
    return (...of: Of): T => {
      endView(reader);
      return act(...of);
    };
  };
  const { one, many } = prepareLookup(reader);
  const verify: Verifier = withNewView(prepareVerifier(reader, clock));
  const lookup: Lookup = { one: withNewView(one), many: withNewView(many) };
  const leaderboard: Leaderboard = withNewView(prepareLeaderboard(reader));
  return { reader, verify, lookup, leaderboard };
}
