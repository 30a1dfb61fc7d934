import { AppError } from '../../shared/errors.ts';
import { notConfirmedText, refusedText } from '../../shared/keys/approval-end.ts';
import type { Outcome } from '../../shared/keys/lifecycle.ts';
import type { HistoryView, KeyView } from '../../shared/keys/view.ts';

/** The key is asked for after pauses that double from the first to the longest. */
const PAUSE_MS = { first: 250, longest: 2_000 };

type Shown = { key: KeyView; history: HistoryView[] };

/**
 * Waits until an approval that a server has begun has ended: the server mails the secret after its answer. Returns the
 * outcome where the key is Active. Throws, with what the mail server said, `refused` where it did not take the mail, and
 * `try_later` where that is not known; `refused` where the key was decided otherwise meanwhile, and `cancelled`.
 */
export async function waitForAttempt(
  begun: KeyView,
  show: () => Promise<Shown>,
  signal: AbortSignal,
): Promise<Outcome> {
  const { identifier, attempt } = begun;
  const number = attempt?.number ?? 0;
  for (let pauseMs = PAUSE_MS.first; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS.longest)) {
    const { key, history } = await show();
    const isOpen = key.state === 'pending' && key.attempt?.number === number && key.attempt.result === 'open';
    if (!isOpen) {
      const failure = failureOf(number, key, history);
      if (failure !== null) throw failure;
      return { identifier, warning: null };
    }
    await Bun.sleep(pauseMs);
    if (signal.aborted) throw new AppError('cancelled');
  }
}

/** Why an attempt that has ended did not make the key Active; null where it did. */
function failureOf(number: number, key: KeyView, history: Shown['history']) {
  const { identifier, attempt, state } = key;
  const told = history.findLast(({ detail, event }) => detail?.attempt === number && FAILURES.includes(event));
  if (told?.event === 'approval refused') {
    return new AppError('refused', refusedText(key, told.detail?.reason ?? ''));
  }
  if (told !== undefined || (attempt?.number === number && attempt.result === 'not confirmed')) {
    return new AppError('try_later', notConfirmedText(key, told?.detail?.reason ?? ''));
  }
  if (state === 'Active' && attempt?.number === number) return null;
  return new AppError(
    'refused',
    `While the mail was on its way, key ${identifier} was decided otherwise: "profilectl keys show ${identifier}" says how. The secret in that mail will never work.`,
  );
}

const FAILURES = ['approval refused', 'approval not confirmed'];
