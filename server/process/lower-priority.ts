import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

/** The priority of the thread for pages, as of `nice`: lookups get the processor first. */
export const NICENESS = 10;

/** Lowers the priority of the thread that calls this, and of no other. Does nothing where the system forbids or lacks it. */
export function giveWay(): void {
  try {
    // Linux takes a thread's number for that of a process here, and names it as <process>/task/<thread>.
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1));
    setPriority(thread, NICENESS);
  } catch {
    // It keeps its priority.
  }
}
