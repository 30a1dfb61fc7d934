import { isIP } from 'node:net';
import { bareHost, isLoopback } from '../net.ts';
import type { Config } from './config.ts';

type Platform = Pick<Config, 'developerPlatform' | 'mail' | 'publicUrl'>;

/**
 * The URL of the pages for owners, such as `https://profiles.example.org/developers`; null if owners can't sign in, because the
 * Developer Platform is off, no mail can be sent, or PUBLIC_URL is plain HTTP and not on loopback.
 */
export function ownerPages({ developerPlatform, mail, publicUrl }: Platform): string | null {
  const { protocol, hostname } = new URL(publicUrl);
  const isSafe = protocol === 'https:' || isLoopback(bareHost(hostname));
  return developerPlatform && mail !== null && isSafe ? `${publicUrl}/developers` : null;
}

/** The URL of the pages for admins; null if owners have none, or at an IP address, since passkeys need a host name. */
export function adminPages(platform: Platform): string | null {
  const pages = ownerPages(platform);
  const host = bareHost(new URL(platform.publicUrl).hostname);
  return pages === null || isIP(host) !== 0 ? null : `${pages}/admin`;
}
