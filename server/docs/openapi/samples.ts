import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVICE } from '../../../shared/actor.ts';
import { withSettledTime } from '../../../shared/clock.ts';
import { readConfig } from '../../../shared/config/config.ts';
import { withTables } from '../../../shared/db/tables.ts';
import { openDatabase } from '../../../shared/db-files/open.ts';
import { createDeps } from '../../../shared/deps.ts';
import { effectsOnKeys } from '../../../shared/erasure/erase-profile.ts';
import type { VerifiedKey } from '../../../shared/keys/verify.ts';
import { importProfiles } from '../../../shared/profiles/import/import.ts';
import sample from '../../../shared/sample/profiles.jsonl' with { type: 'text' };
import { createApp } from '../../app.ts';
import { closeService, createService, type Service } from '../../process/service.ts';

/** A response of the sample service. */
export type SampleAnswer = { status: number; headers: Headers; body: string };

/** A service whose database contains the sample profiles. */
export type Samples = {
  /** Requests a target (path and query) with the key that has this identifier. */
  ask: (target: string, identifier: string) => Promise<SampleAnswer>;
  publicUrl: string;
};

/** A frozen clock, so that the document is always the same. */
const CLOCK = withSettledTime({ nowMs: () => Date.UTC(2026, 0, 1), monotonicMs: () => 0 });

/** Runs `act` on a service with the sample profiles, in a temporary folder. */
export async function withSamples<T>(act: (samples: Samples) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'profile-lookup-samples-'));
  const config = readConfig({ DATABASE_PATH: join(folder, 'profiles.db'), SECURITY_CONTACT: 'security@example.org' });
  const deps = { ...createDeps(withTables(openDatabase(config.databasePath, 'serve')), config), clock: CLOCK };
  try {
    await importProfiles(deps, [Buffer.from(sample)], {
      merge: false,
      strict: true,
      by: SERVICE,
      onKeys: effectsOnKeys(SERVICE, deps.config),
    });
    const service = createService(deps, () => {});
    try {
      return await act(samplesOf(service));
    } finally {
      closeService(service);
    }
  } finally {
    deps.db.$client.close();
    rmSync(folder, { recursive: true });
  }
}

function samplesOf(service: Service): Samples {
  const { config } = service.deps;
  // Every secret is accepted, and is the identifier of its key.
  const verify = (identifier: string): VerifiedKey => ({
    identifier,
    name: 'Badge bot',
    permissions: ['api.lookup', 'api.leaderboard'],
    rateLimits: config.defaultRateLimits,
    expiresAt: null,
  });
  const app = createApp({ ...service, verify });
  const ask = async (target: string, identifier: string) => {
    const request = new Request(`http://localhost${target}`, { headers: { Authorization: `Bearer ${identifier}` } });
    const answer = await app.fetch(request);
    return { status: answer.status, headers: answer.headers, body: await answer.text() };
  };
  return { ask, publicUrl: config.publicUrl };
}
