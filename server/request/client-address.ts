import type { BlockList } from 'node:net';
import { net } from '../../shared/net.ts';

/** An address as it is compared and logged: IPv4-mapped IPv6 (`::ffff:192.0.2.1`, `::ffff:c000:201`) as IPv4, without a zone. */
export function normaliseAddress(address: string): string {
  if (!address.includes(':')) return address;
  const bare = address.split('%', 1)[0] as string;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1];
  if (mapped !== undefined) return mapped;
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(bare) ?? [];
  if (high === undefined || low === undefined) return bare.toLowerCase();
  return [high, low].flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]).join('.');
}

/** Whether an address, normalised, is one of the trusted proxies. */
export type IsProxy = (address: string) => boolean;

/** Reads the list; as nearly all requests come through the same proxy, the answer for the last address is kept. */
export function proxyCheck(proxies: BlockList): IsProxy {
  const { isIPv4, isIPv6 } = net();
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
 * Who the request comes from: the peer or, as far as addresses are trusted proxies, the one before it in
 * `X-Forwarded-For`, from right to left. Where an entry is no address, the last good one stands.
 */
export function clientAddress(isProxy: IsProxy | null, peer: string, forwardedFor: string | null): string {
  let address = normaliseAddress(peer);
  if (forwardedFor === null || isProxy === null) return address;
  const entries = forwardedFor.split(',');
  while (entries.length > 0 && isProxy(address)) {
    const entry = (entries.pop() as string).trim();
    if (!net().isIPv4(entry) && !net().isIPv6(entry)) return address;
    address = normaliseAddress(entry);
  }
  return address;
}

/** What shares one throttle: an IPv4 address, or an IPv6 network of 64 bits, which is what one subscriber gets. */
export function blockOf(address: string): string {
  if (!net().isIPv6(address)) return address;
  const [head = '', tail] = address.split('::');
  const before = head === '' ? [] : head.split(':');
  // A dotted quad at the end stands for two groups.
  const after = (tail ?? '').split(':').filter((group) => group !== '');
  const afterLength = after.reduce((length, group) => length + (group.includes('.') ? 2 : 1), 0);
  const zeros = tail === undefined ? 0 : 8 - before.length - afterLength;
  const groups = [...before, ...Array<string>(Math.max(0, zeros)).fill('0'), ...after].slice(0, 4);
  return `${groups.map((group) => group.replace(/^0+(?=.)/, '').toLowerCase()).join(':')}::/64`;
}
