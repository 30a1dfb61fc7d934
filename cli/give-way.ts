import { getPriority, setPriority } from 'node:os';

/** As with `nice`: on a busy machine those who ask the server come first. */
const NICENESS = 10;

/** Lowers the priority of this process, which has much to do while a server may run beside it. */
export function giveWay(): void {
  try {
    setPriority(Math.max(NICENESS, getPriority()));
  } catch {
    // Where the system forbids it, this process is as any other.
  }
}
