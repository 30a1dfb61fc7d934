import { type BlockList, isIPv4, isIPv6 } from 'node:net';
import { networkOf } from '../../shared/net.ts';

/**
 * The form in which an address is compared and logged: without a zone, in lower case, and as IPv4 where it is an IPv4-mapped
 * IPv6 address (`::ffff:192.0.2.1`, `::ffff:c000:201`).
 */
export function normaliseAddress(address: string): string {
  if (!address.includes(':')) return address;
  const bare = address.split('%', 1)[0] as string;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1];
  if (mapped !== undefined) return mapped;
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(bare) ?? [];
  if (high === undefined || low === undefined) return bare.toLowerCase();
  return [high, low].flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]).join('.');
}

/** Returns whether an address is one of the trusted proxies. The address must be normalised. */
export type IsProxy = (address: string) => boolean;

/** Makes the check of a list. It remembers its last result, as nearly all requests come through the same proxy. */
export function proxyCheck(proxies: BlockList): IsProxy {
  let last = '';
  let isProxy = false;
  return (address) => {
    if (address !== last) {
      isProxy = isIPv4(address) ? proxies.check(address, 'ipv4') : isIPv6(address) && proxies.check(address, 'ipv6');
      last = address;
    }
    return isProxy;
  };
}

/**
 * The address of the client. That is the peer, unless the peer is a trusted proxy. Then it is the last entry of
 * `X-Forwarded-For`, unless that is a trusted proxy too, and so on from right to left. An entry that is no address ends the
 * search: the address before it is used.
 */
export function clientAddress(isProxy: IsProxy | null, peer: string, forwardedFor: string | null): string {
  let address = normaliseAddress(peer);
  if (forwardedFor === null || isProxy === null) return address;
  const entries = forwardedFor.split(',');
  while (entries.length > 0 && isProxy(address)) {
    const entry = (entries.pop() as string).trim();
    if (!isIPv4(entry) && !isIPv6(entry)) return address;
    address = normaliseAddress(entry);
  }
  return address;
}

/** The addresses whose failures are counted together: one IPv4 address, or the IPv6 /64 network that one subscriber gets. */
export function blockOf(address: string): string {
  return networkOf(address, 64);
}
