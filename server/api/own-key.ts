import type { z } from 'zod';
import type { OwnKey } from '../../shared/api/bodies.ts';
import { isoTime } from '../../shared/clock.ts';
import type { VerifiedKey } from '../../shared/keys/verify.ts';
import type { Answer } from '../http/answers.ts';
import type { Exchange } from '../http/exchange.ts';
import { queryParameters } from '../http/parameters.ts';
import { levelsOf, type Quota } from '../http/quota.ts';
import type { Service } from '../process/service.ts';

/** `GET /api/key`: what the key of the request may do, and what is left of its rate limits. */
export function ownKey(_service: Service, { query, key, quota }: Exchange): Answer {
  queryParameters(query, []);
  const { identifier, name, permissions, expiresAt } = key as VerifiedKey;
  const rateLimits = levelsOf(quota as Quota);
  const expiry = expiresAt === null ? null : isoTime(expiresAt);
  const body: z.infer<typeof OwnKey> = {
    identifier,
    name,
    permissions: [...permissions],
    rateLimits,
    expiresAt: expiry,
  };
  return { body: JSON.stringify(body) };
}
