import type { Config } from '../../shared/config/config.ts';

/** A path of this server as clients see it: behind the prefix of `PUBLIC_URL`, percent-encoded as it is given. */
export function publicPath({ publicUrl }: Pick<Config, 'publicUrl'>, path: string): string {
  return new URL(publicUrl).pathname.replace(/\/$/, '') + path;
}
