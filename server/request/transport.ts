import type { Config } from '../../shared/config/config.ts';
import { exposureFault } from '../../shared/config/config-network.ts';
import { AppError } from '../../shared/errors.ts';
import { isLoopback } from '../../shared/net.ts';
import { type IsProxy, normaliseAddress, proxyCheck } from './client-address.ts';

/** How requests may reach this server. */
export type Transport = {
  /** Null where nothing is a trusted proxy. */
  isProxy: IsProxy | null;
  /** Whether plain HTTP reaches it from other machines: then only a trusted proxy may bring requests, made by HTTPS. */
  isExposed: boolean;
};

/** Reads the rules out of the configuration. Throws `bad_config` where secrets would travel in clear. */
export function checkTransport(config: Config): Transport {
  const fault = exposureFault(config);
  if (fault !== null) throw new AppError('bad_config', fault);
  const { trustedProxies, tls, host } = config;
  return {
    isProxy: trustedProxies === null ? null : proxyCheck(trustedProxies),
    isExposed: tls === null && !isLoopback(host),
  };
}

/** Throws `plain_http` for a request that came, or was forwarded from, plain HTTP where that is not allowed. */
export function refusePlainHttp(transport: Transport, peer: string, headers: Headers): void {
  if (transport.isProxy === null) return;
  if (!transport.isProxy(normaliseAddress(peer))) {
    if (transport.isExposed) throw plainHttp();
    return;
  }
  const proto = headers.get('x-forwarded-proto');
  if (proto === null) {
    // A proxy that says for whom, but not how, may have been asked in clear; one that says neither speaks for itself.
    if (transport.isExposed && headers.has('x-forwarded-for')) throw plainHttp();
    return;
  }
  // Each proxy on the way may have added its own: all of them have to be HTTPS.
  if (proto.split(',').some((value) => value.trim().toLowerCase() !== 'https')) throw plainHttp();
}

function plainHttp(): AppError {
  return new AppError('plain_http');
}
