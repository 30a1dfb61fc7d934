import type { Person } from '../../shared/actor.ts';
import { AppError } from '../../shared/errors.ts';
import { factsOf } from '../../shared/keys/fields/input-facts.ts';
import { KEY_CHANGE } from '../../shared/keys/fields/input-groups.ts';
import { ALREADY_SO, differingFrom } from '../../shared/keys/life/differing.ts';
import type { KeyView } from '../../shared/keys/view.ts';
import { type AnyOperation, flaggedInputs, refuseKind } from '../../shared/operations/entry.ts';
import { OPERATIONS } from '../../shared/operations.ts';
import { againWhileChanged } from '../terminal/again.ts';
import { columnsOf, notice } from '../terminal/output.ts';
import { confirm } from '../terminal/prompts.ts';
import { isAsking } from '../terminal/values.ts';
import { askField, fieldText } from './ask.ts';
import { type Asked, flagName, listed, refuseMissing } from './command.ts';
import { forKeyAsNow, type KeysContext } from './context.ts';
import { performAndPrint, printKey } from './perform.ts';
import { factsText, keyText } from './print.ts';
import { decideOnPage } from './remote/decide.ts';

type Values = Record<string, unknown>;

/**
 * Does what changes a key: on a terminal, without `--yes`, a decision is laid out, what is not given is asked for, and
 * nothing happens before a yes; so is anything else of which something is missing. An admin at a server decides on a page.
 * Throws `usage` where something is missing and nobody can be asked, `cancelled`, and what the operation throws.
 */
export async function carryOut(context: KeysContext, operation: AnyOperation, asked: Asked): Promise<void> {
  const { identifier, given } = asked;
  const isDecision = operation.doors.page === 'decision';
  const kind = await kindOf(context, isDecision);
  if (isDecision) refuseKind(operation, kind);
  if (context.server !== null && kind === 'admin') {
    return decideOnPage(context, { operation, identifier, given }, asked.isWaiting);
  }
  const isEnough = operation.keepsRest && Object.keys(given).length > 0;
  const needed = flaggedInputs(operation, kind).filter(([, schema]) => !schema.safeParse(undefined).success);
  const isMissing = needed.some(([input]) => given[input] === undefined);
  const isAsked = ((isDecision && !isEnough) || isMissing) && isAsking(context.yes);
  if (!isAsked) {
    if (operation.keepsRest && !isEnough) throw nothingToChange(operation);
    refuseMissing(needed, given);
  }
  // A text that was typed is kept where the key has changed meanwhile.
  const typed: Values = {};
  await againWhileChanged(isAsked, async () => {
    const now = forKeyAsNow(context, identifier);
    const input = isAsked ? await decide(now, operation, { kind, identifier, given, typed }) : given;
    if (isAsked && operation.keepsRest && Object.keys(input).length === 0) {
      notice(`Warning: ${ALREADY_SO}`);
      return printKey(now, identifier);
    }
    const { mailedTo } = await performAndPrint(now, operation, { identifier, ...input });
    if (isAsked && mailedTo !== undefined) notice(mailedText(mailedTo));
  });
}

/** Says where a secret was mailed to. */
export function mailedText(address: string): string {
  return `The secret was mailed to ${address}.`;
}

/** Whose rules count. What only owners do is left to the server, which knows who asks. */
async function kindOf(context: KeysContext, isDecision: boolean): Promise<Person['kind']> {
  if (context.server === null) return 'operator';
  return isDecision && (await context.ownProfile()) === null ? 'admin' : 'owner';
}

function nothingToChange(operation: AnyOperation): AppError {
  const flags = flaggedInputs(operation, 'operator').map(([, schema]) => flagName(schema));
  return new AppError('usage', `Say what to change: ${listed(flags, 'or')}.`);
}

type Wanted = { kind: Person['kind']; identifier: string; given: Values; typed: Values };

/** Lays the key out, asks, and returns the input after a yes. Throws `cancelled` after a no. */
async function decide(context: KeysContext, operation: AnyOperation, wanted: Wanted): Promise<Values> {
  const { kind, identifier, given, typed } = wanted;
  const { key } = await context.perform(OPERATIONS.show, { identifier });
  const confirmed = await askAndConfirm(context, operation, key, {
    ...{ kind, typed, given: { ...given, ...typed } },
    layOut: () => notice(`${keyText(key, columnsOf(process.stderr))}\n`),
  });
  if (confirmed === null) throw new AppError('cancelled');
  return operation.keepsRest ? differingFrom(key, KEY_CHANGE.parse(confirmed)) : confirmed;
}

/**
 * Asks for what is not given, shows all that is confirmed, and asks for one yes. Returns the input, or null after a no.
 * `layOut` is called once nothing refuses the operation; texts that are typed are stored in `typed`. Throws `cancelled`, and
 * what refuses it.
 */
export async function askAndConfirm(
  context: KeysContext,
  operation: AnyOperation,
  key: KeyView,
  {
    kind = 'operator',
    given,
    typed = {},
    layOut = () => {},
  }: { kind?: Person['kind']; given: Values; typed?: Values; layOut?: () => void },
): Promise<Values | null> {
  const { clock, approvalLeaseMs } = context;
  const { usual, alsoConfirmed } = await context.prepare(operation, key, given);
  layOut();
  const fields = flaggedInputs(operation, kind).filter(([input]) => input in usual);
  const input: Values = { ...given };
  for (const [name, schema] of fields.filter(([one]) => given[one] === undefined)) {
    input[name] = await askField({
      schema,
      initial: usual[name],
      isPresent: operation.keepsRest,
      check: (value) => operation.refuse(key, { [name]: value }, { approvalLeaseMs, nowMs: clock.nowMs() }),
      nowMs: () => clock.nowMs(),
    });
    if (factsOf(schema).kind === 'lines') typed[name] = input[name];
  }
  const facts = [...fields.map(([name, schema]) => fieldText(schema, input[name])), ...alsoConfirmed];
  const { title, consequence } = operation.texts ?? { title: operation.name, consequence: '' };
  notice(`${[...(facts.length === 0 ? [] : [factsText(facts, columnsOf(process.stderr))]), consequence].join('\n\n')}`);
  return (await confirm(`${title} ${key.identifier}?`)) ? input : null;
}
