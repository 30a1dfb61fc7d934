import { AppError } from '../../shared/errors.ts';
import { isLongText } from '../../shared/keys/fields/input-facts.ts';
import { ALREADY_SO } from '../../shared/keys/life/differing.ts';
import type { KeyView } from '../../shared/keys/view.ts';
import { type AnyOperation, flaggedInputs } from '../../shared/operations/entry.ts';
import { OPERATIONS } from '../../shared/operations.ts';
import { joinWords } from '../../shared/text.ts';
import { columnsOf, notice } from '../terminal/output.ts';
import { confirm } from '../terminal/prompts.ts';
import { retryIfChanged } from '../terminal/retry-if-changed.ts';
import { isAsking } from '../terminal/values.ts';
import { askField, fieldText } from './ask.ts';
import { flagName, type KeyArguments, missingFlags, refuseMissing } from './command.ts';
import { type KeysContext, unlessKeyChanged } from './context.ts';
import { performAndPrint, printKey } from './perform.ts';
import { factsText, keyText } from './print.ts';

type Values = Record<string, unknown>;

/**
 * Performs an operation that changes a key. On a terminal without `--yes`, shows the key, prompts for missing inputs,
 * and asks for confirmation. Throws `usage` if an input is missing and can't be
 * asked for, `cancelled`, and the errors of the operation.
 */
export async function carryOut(
  context: KeysContext,
  operation: AnyOperation,
  { identifier, given }: KeyArguments,
): Promise<void> {
  const isAsked = isAsking(context.yes);
  if (!isAsked) {
    if (operation.keepsRest && Object.keys(given).length === 0) throw nothingToChange(operation);
    refuseMissing(missingFlags(operation, given));
  }
  // Long texts are kept, so that they need not be typed again if the key has changed.
  const typed: Values = {};
  await retryIfChanged(isAsked, async () => {
    const now = unlessKeyChanged(context, identifier);
    const input = isAsked ? await decide(now, operation, { identifier, given, typed }) : given;
    if (isAsked && operation.keepsRest && Object.keys(input).length === 0) {
      notice(`Warning: ${ALREADY_SO}`);
      return printKey(now, identifier);
    }
    const { mailedTo } = await performAndPrint(now, operation, { identifier, ...input });
    if (isAsked && mailedTo !== undefined) notice(mailedText(mailedTo));
  });
}

/** A sentence with the e-mail address to which a secret was mailed. */
export function mailedText(address: string): string {
  return `The secret was mailed to ${address}.`;
}

function nothingToChange(operation: AnyOperation): AppError {
  const flags = flaggedInputs(operation, 'operator').map(([, schema]) => flagName(schema));
  return new AppError('usage', `Specify what to change: ${joinWords(flags, 'or')}.`);
}

/** Shows the key, prompts, and returns the input once it is confirmed. Throws `cancelled` if it is declined. */
async function decide(
  context: KeysContext,
  operation: AnyOperation,
  { identifier, given, typed }: { identifier: string; given: Values; typed: Values },
): Promise<Values> {
  const { key, history } = await context.perform(OPERATIONS.show, { identifier });
  const confirmed = await askAndConfirm(context, operation, key, {
    typed,
    given: { ...given, ...typed },
    showKey: () => notice(`${keyText(key, columnsOf(process.stderr))}\n`),
  });
  if (confirmed === null) throw new AppError('cancelled');
  if (!operation.keepsRest) return confirmed;
  const lacked = operation.lacks({ key, history, predecessor: null }, confirmed);
  return Object.fromEntries(Object.entries(confirmed).filter(([input]) => lacked.includes(input)));
}

/**
 * Prompts for the inputs missing in `given`, unless the given ones are enough, shows everything to be confirmed, and
 * asks for confirmation. Returns the input, or null if it is declined. `showKey` is called after the checks that may
 * refuse the operation; typed long texts are stored in `typed`. Throws `cancelled`, and the refusal of the operation.
 */
export async function askAndConfirm(
  context: KeysContext,
  operation: AnyOperation,
  key: KeyView,
  { given, typed = {}, showKey = () => {} }: { given: Values; typed?: Values; showKey?: () => void },
): Promise<Values | null> {
  const { clock, approvalLeaseMs } = context;
  const alsoConfirmed = await context.prepare(operation, key, given);
  showKey();
  const defaults = context.defaults(operation, key);
  const isEnough = operation.keepsRest && Object.keys(given).length > 0;
  const fields = flaggedInputs(operation, 'operator').filter(([input]) => input in (isEnough ? given : defaults));
  const input: Values = { ...given };
  for (const [name, schema] of fields.filter(([one]) => given[one] === undefined)) {
    input[name] = await askField({
      schema,
      initial: defaults[name],
      isCurrent: operation.keepsRest,
      check: (value) => operation.refuse(key, { [name]: value }, { approvalLeaseMs, nowMs: clock.nowMs() }),
      nowMs: () => clock.nowMs(),
    });
    if (isLongText(schema)) typed[name] = input[name];
  }
  const facts = [...fields.map(([name, schema]) => fieldText(schema, input[name])), ...alsoConfirmed];
  const { title, consequence } = operation.texts;
  notice(`${[...(facts.length === 0 ? [] : [factsText(facts, columnsOf(process.stderr))]), consequence].join('\n\n')}`);
  return (await confirm(`${title} ${key.identifier}?`)) ? input : null;
}
