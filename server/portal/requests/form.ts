import { AppError } from '../../../shared/errors.ts';
import { readPairs } from '../../http/parameters.ts';

/**
 * The kinds of a form's fields. Only the `many` kinds may be repeated, as check boxes are. If a form is offered to be sent
 * again after a refusal, its `one` and `many` fields are listed, `unseen` ones are hidden, and `used up` ones are left out. A
 * form with a `secret` is not offered again.
 */
export type FieldKinds = Readonly<Record<string, 'one' | 'many' | 'secret' | 'used up' | 'unseen' | 'many unseen'>>;

/** The fields that were sent, with their values in order. */
export type Form = ReadonlyMap<string, readonly string[]>;

/** The value of a field that is not repeated; empty if it was not sent. */
export function oneValue(form: Form, name: string): string {
  return form.get(name)?.[0] ?? '';
}

/** All values of a field; none if it was not sent. */
export function allValues(form: Form, name: string): readonly string[] {
  return form.get(name) ?? [];
}

/**
 * Reads a body of the type application/x-www-form-urlencoded (WHATWG URL, section 5.1). Throws `bad_form` for malformed
 * encodings, for a field that the route does not have, and for one that may not be repeated.
 */
export function readForm(body: string, kinds: FieldKinds): Form {
  const form = new Map<string, string[]>();
  for (const { name, value } of readPairs(body, (sent = '') => sent)) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
    const values = form.get(name) ?? [];
    const mayRepeat = kind?.startsWith('many') ?? false;
    if (kind === undefined || value === undefined || (!mayRepeat && values.length > 0)) throw new AppError('bad_form');
    form.set(name, [...values, value]);
  }
  return form;
}

/**
 * Reads the parameters in `allowed`; ignores others, because mail services and other sites add their own. Throws
 * `bad_parameter` for one that is repeated or can't be decoded.
 */
export function readQuery(query: string, allowed: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { name, value } of readPairs(query, (sent = '') => sent)) {
    if (!allowed.includes(name)) continue;
    if (found.has(name)) throw new AppError('bad_parameter', `${name} may be given only once.`);
    if (value === undefined) throw new AppError('bad_parameter', `${name} must be percent-encoded UTF-8.`);
    found.set(name, value);
  }
  return found;
}
