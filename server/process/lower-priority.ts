import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

/** The niceness of the portal's thread, below that of lookups. */
export const NICENESS = 10;

/** Lowers the priority of the calling thread only. Does nothing if the system doesn't support or allow it. */
export function lowerPriority(): void {
  try {
    // Linux accepts a thread id in place of a process id here; /proc/thread-self links to <process>/task/<thread>.
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    setPriority(thread, NICENESS);
  } catch {
    // The thread keeps its priority.
  }
}
