import type { Config } from '../../shared/config/config.ts';
import { exposureFault } from '../../shared/config/network.ts';
import { AppError } from '../../shared/errors.ts';
import { isLoopback } from '../../shared/net.ts';
import { type IsProxy, normaliseAddress, proxyCheck } from './client-address.ts';
import type { RequestState } from './request-state.ts';

/** Longer paths are refused before anything reads them. The sentence of `uri_too_long` names this number. */
const MAX_PATH_LENGTH = 8_192;

/** The rules for how requests may reach this server. */
export type Transport = {
  /** Null if there are no trusted proxies. */
  isProxy: IsProxy | null;
  /**
   * Whether the server speaks plain HTTP on an address that other machines reach. Then it accepts requests only from trusted
   * proxies, to which clients must have sent them over HTTPS.
   */
  isExposed: boolean;
};

/** Derives the rules from the configuration. Throws `bad_config` if secrets would be sent unencrypted. */
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
 * Refuses a request that no route may answer. Throws `plain_http`, `bad_request` if it has no valid Host, and `uri_too_long`.
 */
export function checkTransport(transport: Transport, { headers }: Request, path: string, state: RequestState): void {
  refusePlainHttp(transport, state.peer, headers);
  if (!state.hasUrl) throw new AppError('bad_request');
  if (path.length > MAX_PATH_LENGTH) throw new AppError('uri_too_long');
}

/** Throws `plain_http` for a request that its client, or a proxy on the way, sent over plain HTTP where that is forbidden. */
export function refusePlainHttp(transport: Transport, peer: string, headers: Headers): void {
  if (transport.isProxy === null) return;
  if (!transport.isProxy(normaliseAddress(peer))) {
    if (transport.isExposed) throw plainHttp();
    return;
  }
  const proto = headers.get('x-forwarded-proto');
  if (proto === null) {
    // A proxy that sends the client's address but not the protocol may have got the request over plain HTTP. A proxy that
    // sends neither header made the request itself, for example as a health check.
    if (transport.isExposed && headers.has('x-forwarded-for')) throw plainHttp();
    return;
  }
  // Each proxy on the way may have added the protocol of its request; all of them have to be HTTPS.
  if (proto.split(',').some((value) => value.trim().toLowerCase() !== 'https')) throw plainHttp();
}

function plainHttp(): AppError {
  return new AppError('plain_http');
}
