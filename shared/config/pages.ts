import { isIP } from 'node:net';
import { bareHost, isLoopback } from '../net.ts';
import type { Config } from './config.ts';

/** The settings that determine the URL of the Developer Platform's pages, and whether there are any. */
type Platform = Pick<Config, 'developerPlatform' | 'mail' | 'publicUrl'>;

/**
 * The URL of the pages for owners, such as `https://profiles.example.org/developers`; null if owners can't sign in: the
 * Developer Platform is off, no mail can be sent, or PUBLIC_URL is plain HTTP on a machine that others reach.
 */
export function ownerPages({ developerPlatform, mail, publicUrl }: Platform): string | null {
  const { protocol, hostname } = new URL(publicUrl);
  const isSafe = protocol === 'https:' || isLoopback(bareHost(hostname));
  return developerPlatform && mail !== null && isSafe ? `${publicUrl}/developers` : null;
}

/** The URL of the pages for admins; null if there are none, for one because a passkey can't belong to an IP address. */
export function adminPages(platform: Platform): string | null {
  const pages = ownerPages(platform);
  const host = bareHost(new URL(platform.publicUrl).hostname);
  return pages === null || isIP(host) !== 0 ? null : `${pages}/admin`;
}
