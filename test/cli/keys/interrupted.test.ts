import { expect, test } from 'bun:test';
import type { KeysContext, Perform } from '../../../cli/keys/context.ts';
import { localKeys } from '../../../cli/keys/local-keys.ts';
import { performAndWait } from '../../../cli/keys/perform.ts';
import type { KeyState } from '../../../shared/db/key-columns.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { ALL_OPERATIONS } from '../../../shared/operations.ts';
import { keyIn } from '../../support/keys.ts';
import { insertProfile } from '../../support/profiles.ts';
import { refusal } from '../../support/refusal.ts';
import { testClock, testDeps } from '../../support/world.ts';

// What a command on the server itself says after Ctrl-C, whether its operation had taken effect or not.

/** The sentence if Ctrl-C is pressed while the operation is under way on a key in this state. */
async function sentenceFor(operation: AnyOperation, state: KeyState): Promise<string> {
  const clock = testClock();
  const deps = { ...testDeps({ clock }), clock };
  insertProfile(deps.db, { username: 'ada' });
  const identifier = await keyIn(state, deps, 'ada');
  const keys = localKeys(deps, { kind: 'operator', name: 'root' });
  const perform: Perform = (asked, input) => {
    if (asked.name !== operation.name) return keys.perform(asked, input);
    queueMicrotask(() => process.emit('SIGINT'));
    return Promise.withResolvers<never>().promise;
  };
  const context: KeysContext = { ...keys, perform, json: false, yes: true };
  const { code, message } = await refusal(performAndWait(context, operation, { identifier }));
  expect(code).toBe('cancelled');
  return message.replaceAll(identifier, 'K');
}

test('after Ctrl-C every command names the state of its key, and what is certain or unknown', async () => {
  const said: [string, string][] = [];
  for (const operation of ALL_OPERATIONS) {
    const { name, from, to, event, input } = operation;
    if (event === null || !('identifier' in input.shape)) continue;
    const states = [from?.[0] ?? 'Active', ...(to === null ? [] : [to])];
    for (const state of states) said.push([`${name}, ${state}`, await sentenceFor(operation, state)]);
  }
  const isUnclear = 'shows whether it was changed.';
  const noMail = 'It is unknown whether the mail was sent.';
  expect(said).toEqual([
    ['edit, Active', `Interrupted; key K is Active. "profilectl keys show K" ${isUnclear}`],
    ['withdraw, pending', 'Interrupted; key K is still pending.'],
    ['withdraw, withdrawn', `Interrupted; key K is withdrawn. ${noMail}`],
    ['approve, pending', 'Interrupted; key K is still pending.'],
    ['approve, Active', 'Interrupted; key K is Active, and the e-mail with its secret was sent.'],
    ['reject, pending', 'Interrupted; key K is still pending.'],
    ['reject, rejected', `Interrupted; key K is rejected. ${noMail}`],
    ['change, Active', `Interrupted; key K is Active. "profilectl keys show K" ${isUnclear}`],
    ['suspend, Active', 'Interrupted; key K is still Active.'],
    ['suspend, suspended', 'Interrupted; key K is still suspended.'],
    ['resume, suspended', 'Interrupted; key K is still suspended.'],
    ['resume, Active', 'Interrupted; key K is still Active.'],
    ['revoke, Active', 'Interrupted; key K is still Active.'],
    ['revoke, revoked', `Interrupted; key K is revoked. ${noMail}`],
  ]);
});
