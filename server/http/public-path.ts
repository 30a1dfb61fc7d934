import type { Config } from '../../shared/config/config.ts';

/** The path of PUBLIC_URL, cached: parsing it for each link took a tenth of the time of a page. */
const PREFIXES = new Map<string, string>();

/** Prefixes a percent-encoded path of this server with the path of `PUBLIC_URL`. */
export function publicPath({ publicUrl }: Pick<Config, 'publicUrl'>, path: string): string {
  const prefix = PREFIXES.get(publicUrl) ?? new URL(publicUrl).pathname.replace(/\/$/, '');
  PREFIXES.set(publicUrl, prefix);
  return prefix + path;
}
