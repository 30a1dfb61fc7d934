import { getPriority, setPriority } from 'node:os';

/** The niceness: on a busy machine the server gets the processor first. */
const NICENESS = 10;

/** Lowers the priority of this process, for long commands on a machine where a server may run. */
export function lowerPriority(): void {
  try {
    setPriority(Math.max(NICENESS, getPriority()));
  } catch {
    // If the system doesn't allow this, the process keeps its priority.
  }
}
