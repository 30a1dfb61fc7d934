import { isIPv6 } from 'node:net';

/** Whether only this machine can reach the host: 127.0.0.0/8, ::1 or `localhost`. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}

/** The host of a URL, without the brackets of an IPv6 address. */
export function bareHost(hostname: string): string {
  return hostname.replace(/^\[|\]$/g, '');
}

/** The network of an IPv6 address with a prefix of `bits`; any other string, such as an IPv4 address, is returned unchanged. */
export function networkOf(address: string, bits: 48 | 64): string {
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.split('::');
  const before = head === '' ? [] : head.split(':');
  // A trailing IPv4 address (`::1.2.3.4`) stands for two groups.
  const after = (tail ?? '').split(':').filter((group) => group !== '');
  const afterLength = after.reduce((length, group) => length + (group.includes('.') ? 2 : 1), 0);
  const zeros = tail === undefined ? 0 : 8 - before.length - afterLength;
  const all = [...before, ...Array<string>(Math.max(0, zeros)).fill('0'), ...after];
  const groups = all.slice(0, bits / 16).map((group) => group.replace(/^0+(?=.)/, '').toLowerCase());
  return `${groups.join(':')}::/${bits}`;
}
