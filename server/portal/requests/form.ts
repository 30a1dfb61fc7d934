import { AppError } from '../../../shared/errors.ts';
import { decodePart, readPairs } from '../../http/form-pairs.ts';

/**
 * How often each field of a form may come: `many` any number of times, as check boxes do, all others once. A `secret` one is
 * never shown again; one that is `used up` by being sent neither, and a form is worth sending again without it. An `unseen`
 * one nobody has typed: it is sent again with the others, and not listed among them; `many unseen` any number of times.
 */
export type FieldKinds = Readonly<Record<string, 'one' | 'many' | 'secret' | 'used up' | 'unseen' | 'many unseen'>>;

/** The fields that were sent: the values of each, in order. */
export type Form = ReadonlyMap<string, readonly string[]>;

/** The value of a field that comes once; empty where it was not sent. */
export function oneValue(form: Form, name: string): string {
  return form.get(name)?.[0] ?? '';
}

/** All values of a field; none where it was not sent. */
export function allValues(form: Form, name: string): readonly string[] {
  return form.get(name) ?? [];
}

/**
 * Reads a body of the type application/x-www-form-urlencoded (WHATWG URL, section 5.1). Throws `bad_form` for percent signs
 * and bytes that are no UTF-8, for a field that the route does not have, and for one that comes too often.
 */
export function readForm(body: string, kinds: FieldKinds): Form {
  const form = new Map<string, string[]>();
  for (const { name, value } of readPairs(body)) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
    const values = form.get(name) ?? [];
    if (kind === undefined || (!kind.startsWith('many') && values.length > 0)) throw new AppError('bad_form');
    form.set(name, [...values, value]);
  }
  return form;
}

/**
 * The parameters of a query that a page reads; others are ignored, since mails and other sites add their own. Throws
 * `bad_parameter` for one that comes twice or can't be decoded.
 */
export function readQuery(query: string, allowed: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const part of query.split('&')) {
    const name = part.split('=', 1)[0] as string;
    if (!allowed.includes(name)) continue;
    const value = decodePart(part.slice(name.length + 1));
    if (found.has(name)) throw new AppError('bad_parameter', `${name} may be given only once.`);
    if (value === null) throw new AppError('bad_parameter', `${name} must be percent-encoded UTF-8.`);
    found.set(name, value);
  }
  return found;
}
