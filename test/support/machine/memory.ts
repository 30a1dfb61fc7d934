import { readFileSync } from 'node:fs';

/** The present memory of a process, in bytes; Linux only. */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes ?? 0) * 1024;
}

/**
 * The most memory that a process takes until it ends, bytes, as the system sees it; Linux only. The usage that is
 * reported at its end would count what its parent had when it was forked.
 */
export async function peakBytesOf(child: { pid: number; exited: Promise<unknown> }): Promise<number> {
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, peakBytesSoFar(child.pid));
  }, 10);
  await child.exited;
  clearInterval(timer);
  return peak;
}

/** The peak memory of a process so far, in bytes; 0 once it has ended; Linux only. */
export function peakBytesSoFar(pid: number): number {
  try {
    const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Number(kilobytes ?? 0) * 1024;
  } catch {
    return 0; // It has ended meanwhile.
  }
}
