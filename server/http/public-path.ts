import type { Config } from '../../shared/config/config.ts';

/** The paths of values of PUBLIC_URL, of which there is one: parsing it for each link took a tenth of the time of a page. */
const PREFIXES = new Map<string, string>();

/** A path of this server as clients see it: prefixed with the path of `PUBLIC_URL`. `path` must be percent-encoded. */
export function publicPath({ publicUrl }: Pick<Config, 'publicUrl'>, path: string): string {
  const prefix = PREFIXES.get(publicUrl) ?? new URL(publicUrl).pathname.replace(/\/$/, '');
  PREFIXES.set(publicUrl, prefix);
  return prefix + path;
}
