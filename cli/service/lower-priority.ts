import { getPriority, setPriority } from 'node:os';

/** On a busy machine, the server runs first. */
const NICENESS = 10;

/** Lowers the priority of this process, for long commands on the machine of a server. */
export function lowerPriority(): void {
  try {
    setPriority(Math.max(NICENESS, getPriority()));
  } catch {
    // The system may not allow this.
  }
}
