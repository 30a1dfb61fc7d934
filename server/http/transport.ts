import type { Config } from '../../shared/config/config.ts';
import { exposureFault } from '../../shared/config/network.ts';
import { AppError } from '../../shared/errors.ts';
import { isLoopback } from '../../shared/net.ts';
import { type IsProxy, normaliseAddress, proxyCheck } from './client-address.ts';

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
export function checkTransport(config: Config): Transport {
  const fault = exposureFault(config);
  if (fault !== null) throw new AppError('bad_config', fault);
  const { trustedProxies, tls, host } = config;
  return {
    isProxy: trustedProxies === null ? null : proxyCheck(trustedProxies),
    isExposed: tls === null && !isLoopback(host),
  };
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
