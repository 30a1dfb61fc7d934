import type { Config } from '../../shared/config/config.ts';
import { exposureFault } from '../../shared/config/network.ts';
import { AppError } from '../../shared/errors.ts';
import { isLoopback } from '../../shared/net.ts';
import { type IsProxy, normaliseAddress, proxyCheck } from './client-address.ts';
import type { RequestState } from './request-state.ts';

/** Longer paths are refused before anything reads them. The sentence of `uri_too_long` names this number. */
const MAX_PATH_LENGTH = 8_192;

/** The rules by which requests may reach this server. */
export type Transport = {
  /** Null where there are no trusted proxies. */
  isProxy: IsProxy | null;
  /**
   * Whether the server speaks plain HTTP on an address that other machines reach. Then only trusted proxies may pass on
   * requests, which clients must have made by HTTPS.
   */
  isExposed: boolean;
};

/** Reads the rules from the configuration. Throws `bad_config` where secrets would travel without encryption. */
export function readTransport(config: Config): Transport {
  const fault = exposureFault(config);
  if (fault !== null) throw new AppError('bad_config', fault);
  const { trustedProxies, tls, host } = config;
  return {
    isProxy: trustedProxies === null ? null : proxyCheck(trustedProxies),
    isExposed: tls === null && !isLoopback(host),
  };
}

/**
 * Refuses a request that no route may answer. Throws `plain_http`, `bad_request` where it has no valid Host, and
 * `uri_too_long`.
 */
export function checkTransport(transport: Transport, { headers }: Request, path: string, state: RequestState): void {
  refusePlainHttp(transport, state.peer, headers);
  if (!state.hasUrl) throw new AppError('bad_request');
  if (path.length > MAX_PATH_LENGTH) throw new AppError('uri_too_long');
}

/** Throws `plain_http` for a request that its client, or a proxy on the way, made by plain HTTP where that is not allowed. */
export function refusePlainHttp(transport: Transport, peer: string, headers: Headers): void {
  if (transport.isProxy === null) return;
  if (!transport.isProxy(normaliseAddress(peer))) {
    if (transport.isExposed) throw plainHttp();
    return;
  }
  const proto = headers.get('x-forwarded-proto');
  if (proto === null) {
    // A proxy that names its client (X-Forwarded-For) but not the protocol may have been asked by plain HTTP. A proxy that
    // sends neither header makes the request itself, as for a health check.
    if (transport.isExposed && headers.has('x-forwarded-for')) throw plainHttp();
    return;
  }
  // Each proxy on the way may have added the protocol that it was asked by; all of them have to be HTTPS.
  if (proto.split(',').some((value) => value.trim().toLowerCase() !== 'https')) throw plainHttp();
}

function plainHttp(): AppError {
  return new AppError('plain_http');
}
