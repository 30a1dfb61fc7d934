import type { Person } from '../../../shared/actor.ts';
import { lockDeadline } from '../../../shared/db/when-unlocked.ts';
import { AppError } from '../../../shared/errors.ts';
import { IS_ALREADY_SO } from '../../../shared/keys/life/differing.ts';
import { showKey } from '../../../shared/keys/view.ts';
import { isAlreadySo } from '../../../shared/operations/entry.ts';
import { isUnfinished, REQUEST_DECISIONS } from '../../../shared/operations.ts';
import { consumeAssertion } from '../../../shared/passkeys/assertions.ts';
import type { Decision } from '../../../shared/passkeys/decision.ts';
import { runInBackground } from '../../thread/background.ts';
import { performWhenUnlocked } from '../../thread/perform.ts';
import type { PortalServices } from '../../thread/portal-services.ts';
import { operationOf } from '../passkeys/decision-form.ts';
import { doneAt } from '../requests/flash.ts';
import type { Outcome, PageContext } from '../requests/request-context.ts';
import { signedAdmin } from '../sign-in/signed-in.ts';
import { nextRequest, outcomesPath } from './admin-path.ts';

// Carries out admins' decisions once a passkey has authorised them.

const MAX_CONCURRENT = 4;

type AuthorisedDecision = { person: Person; decision: Decision };

/** Throws the error that would refuse a decision right now, before the admin is asked for a passkey. */
export function refuseImpossible({ access, isStopping }: PortalServices, { operation, input }: Decision): void {
  const decided = operationOf({ operation });
  const { check, continuation, texts } = decided;
  check(access, input);
  const shown = { key: showKey(access, input.identifier), history: [], predecessor: null };
  if (isAlreadySo(decided, shown, input)) throw new AppError('refused', IS_ALREADY_SO);
  if (continuation !== null && isStopping) {
    throw new AppError('try_later', `The server is shutting down; ${texts.button.toLowerCase()} it once it is back.`);
  }
}

/**
 * Consumes the assertion for these decisions and carries them out. A decision on a request leads to the next request, which
 * shows the outcome; one on another key leads back to that key; several lead to the page of their outcomes.
 */
export async function decideNow(
  context: PageContext,
  decisions: readonly Decision[],
  credential: string,
): Promise<Outcome> {
  const { access, services, waitUntilMs } = context;
  const { id, people } = await consumeAssertion(access, signedAdmin(context), credential, decisions, waitUntilMs);
  const authorised = decisions.flatMap((decision, at) =>
    people.slice(at, at + 1).map((person) => ({ person, decision })),
  );
  const [only, ...others] = authorised;
  if (only === undefined || others.length > 0) {
    carryOutAll(services, id, authorised);
    return { seeOther: outcomesPath(id) };
  }
  const { identifier } = only.decision.input;
  const finish = await carryOut(services, only.person, only.decision, waitUntilMs);
  runInBackground(services.background, finish, (cause) =>
    services.report('error', 'A decision could not be finished.', cause),
  );
  const operation = operationOf(only.decision);
  return REQUEST_DECISIONS.includes(operation)
    ? { seeOther: `${await nextRequest(context, identifier)}?decided=${identifier}` }
    : doneAt(`/developers/admin/keys/${identifier}`, operation);
}

/**
 * Carries out a decision as the person whose passkey has authorised it. Returns the rest of the work, for the background: such
 * as the e-mail of an approval, whose outcome is in the key's history and the log. Throws what `perform` throws.
 */
async function carryOut(
  { access, report }: PortalServices,
  person: Person,
  decision: Decision,
  waitUntilMs: number,
): Promise<(signal: AbortSignal) => Promise<void>> {
  const operation = operationOf(decision);
  const output = await performWhenUnlocked({ access, person, waitUntilMs }, operation, decision.input);
  if (!isUnfinished(output) || operation.continuation === null) return async () => {};
  const { refused, failed } = operation.continuation;
  const key = `Key ${decision.input.identifier}`;
  return async (signal) => {
    try {
      await output.finish(signal);
    } catch (cause) {
      // The key's history has the outcome of the e-mail; the log does not repeat it.
      const isInHistory = cause instanceof AppError && (cause.code === 'refused' || cause.code === 'try_later');
      if (isInHistory) report('warn', `${key} ${refused}`);
      else report('error', `${key} ${failed}`, cause);
    }
  };
}

/**
 * Carries out several decisions in the background, each separately. Once the server stops, no further one starts, and once the
 * admin is removed, each is refused: the remaining keys stay as they are, and the page of outcomes says so. `id` is that of the
 * assertion.
 */
function carryOutAll(services: PortalServices, id: number, authorised: readonly AuthorisedDecision[]): void {
  const { background, report, inProgress } = services;
  const waiting = [...authorised];
  const work = async (signal: AbortSignal) => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { person, decision } = next;
      try {
        if (services.isStopping) return;
        await (await carryOut(services, person, decision, lockDeadline()))(signal);
      } catch (cause) {
        const key = `Key ${decision.input.identifier}`;
        if (cause instanceof AppError) report('info', `${key} was not decided on with others: ${cause.code}.`);
        else report('error', `${key} could not be decided on.`, cause);
      }
    }
  };
  inProgress.add(id);
  runInBackground(
    background,
    async (signal) => {
      try {
        await Promise.all(Array.from({ length: MAX_CONCURRENT }, () => work(signal)));
      } finally {
        inProgress.delete(id);
      }
    },
    (cause) => report('error', 'Several decisions could not be carried out.', cause),
  );
}
