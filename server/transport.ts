import type { BlockList } from 'node:net';
import type { Config } from '../shared/config.ts';
import { exposureFault, isLoopback } from '../shared/config-network.ts';
import { AppError } from '../shared/errors.ts';
import { isTrusted, normaliseAddress } from './client-address.ts';

/** How requests may reach this server. */
export type Transport = {
  proxies: BlockList | null;
  /** Whether plain HTTP reaches it from other machines: then only a trusted proxy may bring requests, made by HTTPS. */
  isExposed: boolean;
};

/** Reads the rules out of the configuration. Throws `bad_config` where secrets would travel in clear. */
export function checkTransport(config: Config): Transport {
  const fault = exposureFault(config);
  if (fault !== null) throw new AppError('bad_config', fault);
  return { proxies: config.trustedProxies, isExposed: config.tls === null && !isLoopback(config.host) };
}

/** Throws `plain_http` for a request that came, or was forwarded from, plain HTTP where that is not allowed. */
export function refusePlainHttp(transport: Transport, peer: string, headers: Headers): void {
  if (transport.proxies === null) return;
  if (!isTrusted(transport.proxies, normaliseAddress(peer))) {
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
  return new AppError('plain_http', 'This API is served over HTTPS only.');
}
