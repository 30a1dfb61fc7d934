import { afterAll } from 'bun:test';
import { closeReader, endView, openReader } from '../../shared/db/reader.ts';
import type { Deps } from '../../shared/deps.ts';
import { prepareVerifier, type Verifier } from '../../shared/keys/verify.ts';
import { prepareProfiles } from '../../shared/profiles/read/cache.ts';
import { type Leaderboard, prepareLeaderboard } from '../../shared/profiles/read/leaderboard.ts';
import { type Lookup, prepareLookup } from '../../shared/profiles/read/lookup.ts';

/** What a server reads with, where each call is in a turn of its own: it sees what was committed before it. */
export function readingOf({ db, clock }: Pick<Deps, 'db' | 'clock'>) {
  const reader = openReader(db.$client.filename);
  afterAll(() => closeReader(reader));
  const sources = prepareProfiles(reader);
  const anew = <Of extends unknown[], T>(act: (...of: Of) => T) => {
    return (...of: Of): T => {
      endView(reader);
      return act(...of);
    };
  };
  const { profile, links, many } = prepareLookup(reader, sources);
  const verify: Verifier = anew(prepareVerifier(reader, db, clock));
  const lookup: Lookup = { profile: anew(profile), links: anew(links), many: anew(many) };
  const leaderboard: Leaderboard = anew(prepareLeaderboard(reader, sources));
  return { reader, verify, lookup, leaderboard };
}
