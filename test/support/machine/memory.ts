import { readFileSync } from 'node:fs';

/** The memory that a process now uses, in bytes; Linux only. */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes ?? 0) * 1024;
}

/** A process's peak memory in bytes; Linux only. The usage reported at its end would include its parent's. */
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
    return 0; // It has ended.
  }
}
