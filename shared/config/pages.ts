import { isIP } from 'node:net';
import { bareHost, isLoopback } from '../net.ts';
import type { Config } from './config.ts';

/** What says where the pages of the Developer Platform are, if they are anywhere. */
type Platform = Pick<Config, 'developerPlatform' | 'mail' | 'publicUrl'>;

/**
 * Where the pages for owners begin, such as `https://profiles.example.org/developers`; null where owners can't sign in:
 * the Developer Platform is off, no mail can be sent, or PUBLIC_URL is plain HTTP on a machine that others reach.
 */
export function ownerPages({ developerPlatform, mail, publicUrl }: Platform): string | null {
  const { protocol, hostname } = new URL(publicUrl);
  const isSafe = protocol === 'https:' || isLoopback(bareHost(hostname));
  return developerPlatform && mail !== null && isSafe ? `${publicUrl}/developers` : null;
}

/** Where the pages for admins begin; null where there are none, also since a passkey can't belong to an IP address. */
export function adminPages(platform: Platform): string | null {
  const pages = ownerPages(platform);
  const host = bareHost(new URL(platform.publicUrl).hostname);
  return pages === null || isIP(host) !== 0 ? null : `${pages}/admin`;
}
