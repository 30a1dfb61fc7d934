/**
 * Whether strace (Debian: strace) is installed and may trace, so that tests can watch system calls and make them
 * fail.
 */
export const HAS_STRACE =
  Bun.which('strace') !== null && Bun.spawnSync(['strace', '-qq', '-o', '/dev/null', 'true']).success;
