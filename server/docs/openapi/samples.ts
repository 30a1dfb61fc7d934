import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SERVICE } from '../../../shared/actor.ts';
import { withSettledTime } from '../../../shared/clock.ts';
import { readConfig } from '../../../shared/config/config.ts';
import { openDatabase } from '../../../shared/db/open.ts';
import { withTables } from '../../../shared/db/tables.ts';
import { createDeps } from '../../../shared/deps.ts';
import { effectsOnKeys } from '../../../shared/erasure/erase-profile.ts';
import { AppError } from '../../../shared/errors.ts';
import type { VerifiedKey } from '../../../shared/keys/verify.ts';
import { importProfiles } from '../../../shared/profiles/write/import.ts';
import sample from '../../../shared/sample/profiles.jsonl' with { type: 'text' };
import type { Answer } from '../../http/answers.ts';
import type { Route } from '../../http/chain.ts';
import type { Exchange } from '../../http/exchange.ts';
import { admit, openQuota, type Quota } from '../../http/quota.ts';
import { closeService, createService, type Service } from '../../process/service.ts';

/** Returns what a route answers to a target (path and query) from a client with a new key. */
export type AskSample = (route: Route, target: string) => (Answer & { body: string }) | AppError;

/** What can be asked of a service whose database holds the sample profiles. */
export type Samples = {
  ask: AskSample;
  /** The default rate limits of a key that has made one request. */
  quotaAfterOne: () => Quota;
  /** The address under which the service says that clients reach it. */
  publicUrl: string;
};

/** A clock that stands still, so that the document is the same whenever it is made. */
const CLOCK = withSettledTime({ nowMs: () => Date.UTC(2026, 0, 1), monotonicMs: () => 0 });

/** Runs `act` on a service with the sample profiles, in a temporary folder that is removed afterwards. */
export async function withSamples<T>(act: (samples: Samples) => T): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'profile-lookup-samples-'));
  const config = readConfig({ DATABASE_PATH: join(folder, 'profiles.db'), SECURITY_CONTACT: 'security@example.org' });
  const deps = { ...createDeps(withTables(openDatabase(config.databasePath, 'serve')), config), clock: CLOCK };
  try {
    await importProfiles(deps, [Buffer.from(sample)], {
      merge: false,
      strict: true,
      by: SERVICE,
      onKeys: effectsOnKeys(SERVICE),
    });
    const service = createService(deps, () => {});
    try {
      return act(samplesOf(service));
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
  const key: VerifiedKey = {
    identifier: 'k7Qm2XaB',
    name: 'Badge bot',
    permissions: ['api.lookup', 'api.leaderboard'],
    rateLimits: config.defaultRateLimits,
    expiresAt: null,
  };
  let keys = 0;
  /** Makes a new key each time, so that no example depends on what another example has spent. */
  function quotaAfterOne(): Quota {
    const quota = openQuota(service.limits, { ...key, identifier: String(++keys).padStart(8, '0') });
    admit(service.limits, quota, 1);
    return quota;
  }
  const ask: AskSample = (route, target) => {
    const [path = '', query = ''] = target.split('?');
    const exchange = { path, query, key, quota: quotaAfterOne() } as unknown as Exchange;
    try {
      const answer = (route.answer as NonNullable<Route['answer']>)(service, exchange, route) as Answer;
      return { ...answer, body: Buffer.from(answer.body).toString() };
    } catch (error) {
      if (error instanceof AppError) return error;
      throw error;
    }
  };
  return { ask, quotaAfterOne, publicUrl: config.publicUrl };
}
