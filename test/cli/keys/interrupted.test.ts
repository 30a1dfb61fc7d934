import { expect, test } from 'bun:test';
import { type KeysContext, keysContext, type Perform } from '../../../cli/keys/context.ts';
import { performAndWait } from '../../../cli/keys/perform.ts';
import { untilInterrupted } from '../../../cli/terminal/waiting.ts';
import { KEY_STATES, type KeyState } from '../../../shared/db/key-columns.ts';
import { AppError } from '../../../shared/errors.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { ALL_OPERATIONS, OPERATIONS } from '../../../shared/operations.ts';
import { keyIn } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { refusal } from '../../support/refusal.ts';
import { testClock, testDeps } from '../../support/world.ts';

// What a command on the server itself says after Ctrl-C, whether its operation had taken effect or not.

const interrupt = () => queueMicrotask(() => process.emit('SIGINT'));

/** The sentence if Ctrl-C is pressed while the operation is under way on a key in this state, or `fault` when it is read. */
async function sentenceFor(operation: AnyOperation, state: KeyState, fault?: AppError): Promise<string> {
  const clock = testClock();
  const deps = { ...testDeps({ clock }), clock };
  insertProfile(deps.db, { username: 'ada' });
  const identifier = await keyIn(state, deps, 'ada');
  const keys = keysContext({ deps, actor: { kind: 'operator', name: 'root' }, json: false, yes: true });
  const perform: Perform = (asked, input) => {
    if (asked.name !== operation.name) return fault ? Promise.reject(fault) : keys.perform(asked, input);
    interrupt();
    return Promise.withResolvers<never>().promise;
  };
  const context: KeysContext = { ...keys, perform };
  const { code, message } = await refusal(performAndWait(context, operation, { identifier }));
  expect(code).toBe('cancelled');
  return message.replaceAll(identifier, 'K');
}

test('after Ctrl-C every command names the state of its key, and what is certain or unknown', async () => {
  for (const operation of ALL_OPERATIONS) {
    const { name, from, to, event, continuation, input } = operation;
    if (event === null || !('identifier' in input.shape)) continue;
    const ownStates = [from?.[0] ?? 'Active', ...(to === null ? [] : [to])];
    const other = KEY_STATES.find((state) => to !== null && state !== to && from?.includes(state) === false);
    for (const state of [...ownStates, ...(other === undefined ? [] : [other])]) {
      const isMailed = continuation !== null && state === to;
      const mail = isMailed
        ? ', and the e-mail with its secret was sent.'
        : '. It is unknown whether the mail was sent.';
      const is = from?.includes(state) ? `still ${state}.` : `${state}${mail}`;
      const isUnclear = `${state}. "profilectl keys show K" shows whether it was changed.`;
      const said = await sentenceFor(operation, state);
      expect([name, state, said]).toEqual([name, state, `Interrupted; key K is ${to === null ? isUnclear : is}`]);
    }
  }
});

test('if the state can’t be read after Ctrl-C, or not in time, the command says that it is unknown', async () => {
  const unknown = 'Interrupted; it is unknown whether anything was changed.';
  const said = await sentenceFor(OPERATIONS.suspend as AnyOperation, 'Active', new AppError('busy'));
  expect(said).toBe(`${unknown} The database is busy; try again.`);
  const never = () => Promise.withResolvers<never>().promise;
  const ended = refusal(untilInterrupted(never(), never, 10));
  interrupt();
  expect(await ended).toMatchObject({ code: 'cancelled', message: unknown });
});
