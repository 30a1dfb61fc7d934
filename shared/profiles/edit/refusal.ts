import type { LineFault } from './line-values.ts';

/** Why a line is refused, without private data. */
export type Refusal = {
  /** The field, with its index in a list: `links[2].name`; null for the whole line. */
  field: string | null;
  /** Continues `line 7: `, and names the field, if any. */
  reason: string;
  /** The same without details that differ between lines, so that lines can be counted by it. */
  sum: string;
};

/** A refusal of the whole line. */
export function wholeLine(reason: string, sum = reason): Refusal {
  return { field: null, reason, sum };
}

/** The refusal of an invalid field; `field` is the one that was being parsed, or null. */
export function refusalOfFault({ what, rule, message }: LineFault, field: string | null): Refusal {
  // "each string in customize" is not a field.
  const named = field === null || what.startsWith(field) ? what : field;
  return {
    field: named === 'the line' ? null : named,
    reason: message,
    sum: `${what.replace(/\[\d+\]/g, '[]')} ${rule}`,
  };
}

/** The refusal of a line if an earlier line of its profile waits for a name and no more lines can be deferred. */
export const WAITS_BEHIND = wholeLine(
  'an earlier line of the same profile is waiting for a name, and no more lines can wait',
);

const NAME_SUM = 'the name is held by another profile';
const AUTH_ID_SUM = 'the authId is held by another profile';

/** The `sum` of a {@link heldByOther} refusal of which only the reason is known; null for any other reason. */
export function sumOfHeld(reason: string): string | null {
  const [, what] = /^the (name ".*"|authId) is held by profile \d+$/s.exec(reason) ?? [];
  if (what === undefined) return null;
  return what === 'authId' ? AUTH_ID_SUM : NAME_SUM;
}

/** The refusal of a name (position 0 is the username) or, without `name`, of an auth ID that another profile has. */
export function heldByOther(holder: number, name?: { name: string; position: number }): Refusal {
  if (name === undefined) {
    return {
      field: 'authId',
      reason: `the authId is held by profile ${holder}`,
      sum: AUTH_ID_SUM,
    };
  }
  return {
    field: name.position === 0 ? 'username' : `aliases[${name.position - 1}]`,
    reason: `the name "${name.name}" is held by profile ${holder}`,
    sum: NAME_SUM,
  };
}
