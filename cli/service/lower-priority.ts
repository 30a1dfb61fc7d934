import { getPriority, setPriority } from 'node:os';

/** The priority, as of `nice`: on a busy machine the server gets the processor first. */
const NICENESS = 10;

/** Lowers the priority of this process. For commands that take long while a server may run on the same machine. */
export function lowerPriority(): void {
  try {
    setPriority(Math.max(NICENESS, getPriority()));
  } catch {
    // If the system forbids it, the process keeps its priority.
  }
}
