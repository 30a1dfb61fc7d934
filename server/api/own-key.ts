import { Elysia } from 'elysia';
import type { z } from 'zod';
import type { OwnKey } from '../../shared/api/bodies.ts';
import { isoTime } from '../../shared/clock.ts';
import { operation } from '../docs/operation.ts';
import { queryOf, refuseParameters } from '../http/parameters.ts';
import { levelsOf } from '../http/quota.ts';
import { type Admitted, admitted, withKey } from '../http/with-key.ts';
import type { RequestState, Service } from '../service.ts';

/** `/api/key`: the permissions of the request's key, and what is left of its rate limits. Spends nothing. */
export function ownKey(service: Service) {
  const show = ({ request, state }: { request: Request; state: RequestState }) => {
    refuseParameters(queryOf(request));
    return { body: describe(admitted(state)) };
  };
  return new Elysia({ name: 'own-key' }).use(withKey(service, 'nothing')).get('/api/key', show, KEY);
}

const KEY = operation({
  id: 'getKey',
  tag: 'Key',
  summary: 'Look up the key',
  description: 'The permissions of the request’s key, and what is left of its rate limits. Costs nothing.',
  permission: null,
  parameters: [],
  body: 'OwnKey',
});

function describe({ key, quota }: Admitted): string {
  const { identifier, name, permissions, expiresAt } = key;
  const body: z.infer<typeof OwnKey> = {
    identifier,
    name,
    permissions: [...permissions],
    rateLimits: levelsOf(quota),
    expiresAt: expiresAt === null ? null : isoTime(expiresAt),
  };
  return JSON.stringify(body);
}
