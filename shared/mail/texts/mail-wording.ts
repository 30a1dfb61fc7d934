import { isoTime } from '../../clock.ts';
import type { Predecessor } from '../../keys/life/successor.ts';
import { formatRateLimit, type RateLimit, rateLimitWords } from '../../limits/rate-limit.ts';
import { cleanForTerminal } from '../../text.ts';
import type { Block } from './layout.ts';

/**
 * A rate limit in words: `60/1m (at most 60 requests in any minute)`. In ASCII, without the narrow spaces of pages: otherwise the
 * mail with a secret would be quoted-printable, which breaks its command line.
 */
export function rateLimitInWords(limit: RateLimit): string {
  return `${formatRateLimit(limit)} (at most ${rateLimitWords(limit, 'in any')})`;
}

/** Milliseconds since 1970 as `2026-01-01 00:00:00 UTC`. */
export function timeInWords(ms: number): string {
  return `${isoTime(ms).slice(0, 19).replace('T', ' ')} UTC`;
}

/** The expiry of a key (milliseconds since 1970; null for never) in words. */
export function expiryInWords(ms: number | null): string {
  return ms === null ? 'never; it works until it is revoked' : timeInWords(ms);
}

/** What happens to the key that this one replaces, and what its owner has to do; nothing if there is no such key. */
export function successionBlocks(identifier: string, predecessor: Predecessor | null): Block[] {
  if (predecessor === null) return [];
  const text = `This key replaces your key ${predecessor.identifier}. ${predecessorText(identifier, predecessor)}`;
  return [{ kind: 'paragraph', text }];
}

function predecessorText(identifier: string, { identifier: old, endsAtMs, isOver, isSuspended }: Predecessor): string {
  if (isOver) return `Key ${old} no longer works.`;
  const end = endsAtMs === null ? null : timeInWords(endsAtMs);
  if (isSuspended)
    return `Key ${old} is suspended, so requests that use it are refused${end === null ? '' : `; it expires at ${end}`}.`;
  const until = end === null ? '' : ` until ${end}, when ${old} expires`;
  return `Both keys work${until}. Give your program the secret of ${identifier} before you stop using ${old}.`;
}

/**
 * A command line for sh, bash and zsh that shows what a key may do. It reads the secret without echo, which it restores even
 * after Ctrl-C, and pipes it to curl, because every user of the machine can see arguments.
 */
export function curlLine(publicUrl: string): string {
  const url = `'${`${publicUrl}/api/key`.replaceAll("'", "'\\''")}'`;
  const ask = `trap 'stty echo; exit' EXIT INT; stty -echo; printf 'Secret: '; read -r KEY; echo`;
  return `(${ask}; printf 'Authorization: Bearer %s\\n' "$KEY" | curl -sS -w '\\n' -H @- ${url})`;
}

/** Text that others wrote, without control and bidirectional characters, line separators and whole secrets. */
export function foreign(text: string, lines = false): string {
  return cleanForTerminal(text, lines)
    .replace(/[\u2028\u2029]/g, ' ')
    .replace(/plk_([0-9A-Za-z]{8})_[0-9A-Za-z]{38}/g, 'plk_$1_[removed]');
}
