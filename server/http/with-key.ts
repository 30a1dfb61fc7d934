import { Elysia } from 'elysia';
import type { Permission } from '../../shared/db/key-columns.ts';
import { renewView } from '../../shared/db/reader.ts';
import { AppError } from '../../shared/errors.ts';
import { authenticate } from './authenticate.ts';
import { reading, transport } from './every-request.ts';
import { admit, openQuota, showLevels } from './quota.ts';
import type { Serving } from './serving.ts';

/**
 * What a request costs of each rate limit of its key: one request, nothing, or as many as its route spends with `admit` once
 * it has read the parameters.
 */
export type Spends = 'one' | 'nothing' | 'what it asks for';

/**
 * Admits requests with an Active key, and provides routes with `key` and `quota`. Throws what {@link authenticate} and
 * {@link admit} throw.
 */
export function withKey(serving: Serving, spends: Spends = 'one') {
  return new Elysia({ name: 'with-key', seed: spends })
    .use(transport(serving))
    .resolve(({ request, state }) => {
      renewView(serving.reader, state.startedAtMs);
      const authorization = request.headers.get('authorization');
      const key = authenticate(serving.verify, serving.throttle, authorization, state.address);
      const quota = openQuota(serving.limits, key);
      state.key = key;
      state.quota = quota;
      if (spends === 'one') admit(serving.limits, quota, 1);
      else if (spends === 'nothing') showLevels(serving.limits, quota);
      return { key, quota };
    })
    .as('scoped');
}

/**
 * Admits GET and HEAD requests with an Active key that has this permission. Throws what {@link withKey} throws,
 * `method_not_allowed`, and `insufficient_scope`.
 */
export function withPermission(serving: Serving, permission: Permission, spends: Spends = 'one') {
  return new Elysia({ name: 'with-permission', seed: permission + spends })
    .use(withKey(serving, spends))
    .use(reading(serving))
    .onBeforeHandle(({ key }) => {
      if (!key.permissions.includes(permission)) throw lackOf(permission);
    })
    .as('scoped');
}

/** The refusal of a request whose key lacks a permission. */
export function lackOf(permission: Permission): AppError {
  return new AppError('insufficient_scope', `This API key lacks the permission ${permission}.`, { scope: permission });
}
