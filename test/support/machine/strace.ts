/** Whether strace (Debian: strace) is here and may trace, so that it can watch the system calls of a process, and fail them. */
export const HAS_STRACE =
  Bun.which('strace') !== null && Bun.spawnSync(['strace', '-qq', '-o', '/dev/null', 'true']).success;
