import type { Config } from '../../shared/config/config.ts';

/** A path of this server as clients see it: prefixed with the path of `PUBLIC_URL`. `path` must be percent-encoded. */
export function publicPath({ publicUrl }: Pick<Config, 'publicUrl'>, path: string): string {
  return new URL(publicUrl).pathname.replace(/\/$/, '') + path;
}
