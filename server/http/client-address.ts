import { type BlockList, isIPv4, isIPv6 } from 'node:net';
import { networkOf } from '../../shared/net.ts';

/**
 * Normalises an address for comparison and logs: without a zone, in lower case, and IPv4-mapped IPv6 addresses
 * (`::ffff:192.0.2.1`, `::ffff:c000:201`) as IPv4.
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

/** Makes the check for a list. It remembers its last result, because nearly all requests come through the same proxy. */
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
 * The client's address: the peer's or, if that is a trusted proxy, the last entry of `X-Forwarded-For` that is not one. An
 * entry that is not an address ends the search from right to left; the address to the right of it is used.
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

/** The block of addresses whose requests are counted together: one IPv4 address, or the IPv6 /64 that a subscriber gets. */
export function blockOf(address: string): string {
  return networkOf(address, 64);
}
