import { Elysia } from 'elysia';
import { renewView } from '../../shared/db/reader.ts';
import type { Permission } from '../../shared/db/schema.ts';
import { AppError } from '../../shared/errors.ts';
import type { VerifiedKey } from '../../shared/keys/verify.ts';
import { countFailure, type Throttle } from '../../shared/throttle.ts';
import type { RequestState, Service } from '../service.ts';
import { transport } from './every-request.ts';
import { admit, openQuota, type Quota, showLevels } from './quota.ts';
import { blockOf } from './transport.ts';

/** How much of each rate limit a request uses: one, nothing, or what its route passes to `admit` after reading the parameters. */
export type Spends = 'one' | 'nothing' | 'by route';

/**
 * Admits requests with an Active key; routes read the key and its quota with {@link admitted}. Throws what {@link refuseStranger}
 * returns or throws, and what {@link admit} throws.
 */
export function withKey(service: Service, spends: Spends) {
  return new Elysia({ name: 'with-key', seed: spends })
    .use(transport(service))
    .onBeforeHandle(({ request, state }) => {
      renewView(service.reader, state.startedAtMs);
      const secret = credentialsOf(request.headers.get('authorization'));
      const key = secret === null ? null : service.verify(secret);
      if (key === null) throw refuseStranger(service.throttle, secret, state.address);
      const quota = openQuota(service.limits, key);
      state.key = key;
      state.quota = quota;
      if (spends === 'one') admit(service.limits, quota, 1);
      else if (spends === 'nothing') showLevels(service.limits, quota);
    })
    .as('scoped');
}

/**
 * Admits requests whose key has this permission. Throws what {@link withKey} throws, and `insufficient_scope`.
 */
export function withPermission(service: Service, permission: Permission, spends: Spends = 'one') {
  return new Elysia({ name: 'with-permission', seed: permission + spends })
    .use(withKey(service, spends))
    .onBeforeHandle(({ state }) => {
      if (!admitted(state).key.permissions.includes(permission)) throw lackOf(permission);
    })
    .as('scoped');
}

/** The refusal of a request whose key lacks a permission. */
function lackOf(permission: Permission): AppError {
  return new AppError('insufficient_scope', `This API key lacks the permission ${permission}.`, { scope: permission });
}

// Scheme, spaces, token68 (RFC 9110, section 11.4). Two Authorization headers arrive joined by a comma, which no token contains.
const CREDENTIALS = /^bearer +[A-Za-z0-9\-._~+/]+=*$/i;

/** A working key and its quota. */
export type Admitted = { key: VerifiedKey; quota: Quota };

/** The key and quota of a request that has passed {@link withKey}. */
export function admitted({ key, quota }: RequestState): Admitted {
  if (key === null || quota === null) throw new Error('The request has not passed withKey.');
  return { key, quota };
}

/**
 * The refusal of a request without a working key: `no_credentials` if there is no secret, `invalid_token` with the same sentence for
 * every secret that does not work. Throws `too_many_failures` instead if the IP address has failed too often.
 */
function refuseStranger(throttle: Throttle, secret: string | null, address: string): AppError {
  countFailure(throttle, blockOf(address));
  return secret === null ? NO_CREDENTIALS : INVALID_TOKEN;
}

// Created once: in a flood of bad keys, creating errors with their stack traces would be most of the work.
const NO_CREDENTIALS = new AppError('no_credentials');
const INVALID_TOKEN = new AppError('invalid_token');

/** The bearer token of an Authorization header; null if it is absent, malformed or has another scheme. */
export function credentialsOf(authorization: string | null): string | null {
  if (authorization === null || !CREDENTIALS.test(authorization)) return null;
  return authorization.slice(authorization.lastIndexOf(' ') + 1);
}
