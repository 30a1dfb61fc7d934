import { VARIABLES } from '../../shared/config.ts';
import { AppError } from '../../shared/errors.ts';
import { newAccount } from '../../shared/keys/quota-account.ts';
import { type Ledger, spend } from '../../shared/keys/quota-ledger.ts';
import { parseRateLimits } from '../../shared/keys/rate-limit.ts';
import { createRing } from '../../shared/keys/ring.ts';
import { sampleAnswers } from '../../shared/sample/answers.ts';
import type { Answer } from '../answers.ts';
import type { Route } from '../chain.ts';
import type { Exchange } from '../exchange.ts';
import type { Quota } from '../quota.ts';
import type { Service } from '../service.ts';

/** Asks a route for a target (path and query) as a client with a new key would, the sample profiles being in. */
export type AskSample = (route: Route, target: string) => (Answer & { body: string }) | AppError;

/**
 * Answers by the routes' own code, so that the document's examples are true. What a route touches is here, and no more:
 * no database, no socket, no clock that moves.
 */
export function sampleAsker(publicUrl: string): AskSample {
  const service = {
    deps: {
      config: { publicUrl, securityContact: 'mailto:security@example.org' },
      clock: { nowMs: () => Date.UTC(2026, 0, 1), monotonicMs: () => 0 },
    },
    ledger: SAMPLE_LEDGER,
    isReady: () => true,
    ...sampleAnswers(),
  } as unknown as Service;
  return (route, target) => {
    const [path = '', query = ''] = target.split('?');
    const exchange = { path, query, key: SAMPLE_KEY, quota: sampleQuota() } as unknown as Exchange;
    try {
      const answer = (route.answer as NonNullable<Route['answer']>)(service, exchange, route) as Answer;
      return { ...answer, body: Buffer.from(answer.body).toString() };
    } catch (error) {
      if (error instanceof AppError) return error;
      throw error;
    }
  };
}

const SAMPLE_KEY = {
  identifier: 'k7Qm2XaB',
  name: 'Badge bot',
  permissions: ['api.lookup', 'api.leaderboard'],
  expiresAt: null,
} as const;

const SAMPLE_LEDGER = { now: () => 0, memory: null } as Ledger;

/** The default rate limits after one request. */
export function sampleQuota(): Quota {
  const limits = parseRateLimits(VARIABLES.DEFAULT_RATE_LIMITS.split(','));
  const rings = limits.map((limit) => createRing(limit));
  const account = newAccount(SAMPLE_KEY.identifier, limits, rings, true);
  // Nobody notes it for writing.
  account.isDirty = true;
  spend(SAMPLE_LEDGER, account);
  return { account, refused: 0 };
}
