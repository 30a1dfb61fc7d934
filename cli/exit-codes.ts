import type { ErrorCode } from '../shared/errors.ts';

/** The process's exit code for each way of saying no; 75 is EX_TEMPFAIL of sysexits.h: trying again can help. */
const EXIT_CODES: Partial<Record<ErrorCode, number>> = {
  usage: 2,
  bad_config: 2,
  try_later: 75,
  busy: 75,
  cancelled: 130,
};

/** 1 for a refusal or a fault, unless the code has an exit code of its own. */
export function exitCodeOf(code: ErrorCode): number {
  return EXIT_CODES[code] ?? 1;
}
