/** Whether strace (Debian: strace) is installed and permitted to trace, for watching and failing system calls. */
export const HAS_STRACE =
  Bun.which('strace') !== null && Bun.spawnSync(['strace', '-qq', '-o', '/dev/null', 'true']).success;
