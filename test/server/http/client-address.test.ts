import { describe, expect, test } from 'bun:test';
import { blockOf, clientAddress, normaliseAddress, proxyCheck } from '../../../server/http/transport.ts';
import { readConfig } from '../../../shared/config/config.ts';

const proxies = readConfig({ TRUSTED_PROXIES: '127.0.0.1,::1,10.0.0.0/8,2001:db8:ffff::/48' }).trustedProxies;

describe('the IP address of the client', () => {
  const cases: [string, string, string | null, string][] = [
    ['X-Forwarded-For of a peer that is not a proxy is ignored', '192.0.2.9', '192.0.2.1', '192.0.2.9'],
    ['X-Forwarded-For of a proxy', '127.0.0.1', '192.0.2.1', '192.0.2.1'],
    ['a proxy without the header', '127.0.0.1', null, '127.0.0.1'],
    ['a chain of proxies, from right to left', '127.0.0.1', '192.0.2.66, 192.0.2.1, 10.1.2.3,10.0.0.1', '192.0.2.1'],
    ['an entry that the client sent to the proxy', '127.0.0.1', '127.0.0.1, 192.0.2.1', '192.0.2.1'],
    ['only proxies', '127.0.0.1', '10.0.0.2, 10.0.0.1', '10.0.0.2'],
    ['garbage in the middle: the last valid entry counts', '127.0.0.1', '192.0.2.1, unknown, 10.0.0.1', '10.0.0.1'],
    ['garbage at the end', '127.0.0.1', '192.0.2.1, <script>', '127.0.0.1'],
    ['an empty entry', '127.0.0.1', '192.0.2.1,', '127.0.0.1'],
    ['an empty header', '127.0.0.1', '', '127.0.0.1'],
    ['IPv4 written as IPv6', '::ffff:10.0.0.1', '::FFFF:192.0.2.1', '192.0.2.1'],
    ['IPv6', '2001:db8:ffff::1', '2001:DB8::1', '2001:db8::1'],
    ['IPv4 with a port', '127.0.0.1', '203.0.113.7:4711', '203.0.113.7'],
    ['IPv6 in brackets', '127.0.0.1', '[2001:db8::1]', '2001:db8::1'],
    ['IPv6 in brackets with a port', '127.0.0.1', '192.0.2.1, [2001:db8::1]:443, 10.0.0.1:80', '2001:db8::1'],
    ['a zone', 'fe80::1%eth0', '192.0.2.1', 'fe80::1'],
    ['a peer that has disconnected', '', '192.0.2.1', ''],
  ];
  for (const [name, peer, forwarded, address] of cases) {
    test(name, () => expect(clientAddress(proxies && proxyCheck(proxies), peer, forwarded)).toBe(address));
  }

  test('without trusted proxies the header is ignored', () => {
    expect(clientAddress(null, '127.0.0.1', '192.0.2.1')).toBe('127.0.0.1');
  });
});

describe('the block of IP addresses that share a throttle', () => {
  const cases: [string, string][] = [
    ['192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002::9', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['1::', '1:0:0:0::/64'],
    ['::2:3:4:5:6:7:8', '0:2:3:4::/64'],
    ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['1:2:3:4:5:6:192.0.2.1', '1:2:3:4::/64'],
    ['::1:2:3:4:192.0.2.1', '0:0:1:2::/64'],
    ['', ''],
  ];
  for (const [address, block] of cases) test(address || 'none', () => expect(blockOf(address)).toBe(block));
});

test('an IPv4 address mapped into IPv6 is the same address, however it is written', () => {
  for (const mapped of ['::ffff:192.0.2.1', '::FFFF:c000:201', '::ffff:c000:0201']) {
    expect(normaliseAddress(mapped)).toBe('192.0.2.1');
  }
});
