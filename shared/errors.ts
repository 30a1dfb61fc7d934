import { type ErrorDetails, REFUSALS, type Refusal } from './refusals.ts';

/** The code of a refusal, which clients see as `X-Error-Code`. */
export type ErrorCode = keyof typeof REFUSALS;

type CodesWith<Column extends keyof Refusal> = {
  [Code in ErrorCode]: Column extends keyof (typeof REFUSALS)[Code] ? Code : never;
}[ErrorCode];

/** The codes that clients of `/api` can get, which the OpenAPI document describes. */
type DocumentedCode = CodesWith<'remedy'>;

/** {@link DocumentedCode} as a list. */
export const DOCUMENTED_CODES = (Object.keys(REFUSALS) as ErrorCode[]).filter(
  (code) => 'remedy' in REFUSALS[code],
) as DocumentedCode[];

/** The entry of a code in the table of refusals. */
export function refusalOf(code: ErrorCode): Refusal {
  return REFUSALS[code];
}

/** `profilectl`'s exit code for a refusal with this code. */
export function exitCodeOf(code: ErrorCode): number {
  return refusalOf(code).exitCode ?? 1;
}

/** The only error class. `message` is a sentence for people: what is wrong and, if that helps, what to do. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  /** Without a message, the error has the sentence of its code. */
  constructor(code: CodesWith<'sentence'>, message?: string | null, details?: ErrorDetails);
  constructor(code: ErrorCode, message: string, details?: ErrorDetails);
  constructor(code: ErrorCode, message?: string | null, details: ErrorDetails = {}) {
    super(message ?? refusalOf(code).sentence, details.cause === undefined ? {} : { cause: details.cause });
    this.name = 'AppError';
    this.code = code;
    this.details = details;
  }
}

/** A refusal whose sentence is about a file, a folder or a disk of this machine. */
export function fileRefusal(sentence: string, cause?: unknown): AppError {
  return new AppError('refused', sentence, { isForOperator: true, cause });
}

/** Whether only the operator may read a refusal's sentence, because it is about a file or has another error as its cause. */
export function isForOperator({ details }: AppError): boolean {
  return details.isForOperator ?? details.cause !== undefined;
}

/** Runs a check and returns the sentence of its refusal, or null. Rethrows other errors. */
export function faultOf(check: () => unknown): string | null {
  try {
    check();
    return null;
  } catch (error) {
    return sentenceOf(error);
  }
}

/** Returns the sentence of a caught refusal. Rethrows other errors. */
function sentenceOf(error: unknown): string {
  if (error instanceof AppError) return error.message;
  throw error;
}

/** The refusal of a decision on something that has changed since the person opened it. */
export function changedSince(what: string): AppError {
  return new AppError('changed_since', `${what} has changed since you opened it. Nothing was done.`);
}
