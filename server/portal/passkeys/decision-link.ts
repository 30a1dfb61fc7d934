import type { z } from 'zod';
import { faultOf } from '../../../shared/errors.ts';
import { factsOf, formNameOf } from '../../../shared/keys/fields/input-facts.ts';
import type { KeyView } from '../../../shared/keys/view.ts';
import type { AnyOperation } from '../../../shared/operations/entry.ts';
import { DECISIONS } from '../../../shared/operations.ts';
import type { Access } from '../../../shared/sessions-file/access.ts';
import { type Html, html } from '../../html.ts';
import type { Faults } from '../html/fields.ts';
import type { Form } from '../requests/form.ts';
import { readFields } from '../requests/operation-form.ts';
import { decisionNamed, shortFields } from './decision-form.ts';

// A link to the page of a key may fill in one of its forms: `?operation=approve&rateLimits=60/1m,5000/1d&expires=90d`. It
// decides nothing and sets no free text, because anybody can make such a link, and those texts are e-mailed to the owner.

/** The parameters of such a link: the operation, and fields of its form in the notation of the form. */
export const LINKED_FIELDS: readonly string[] = [
  ...new Set(['operation', ...DECISIONS.flatMap(shortFields).map(([input, schema]) => formNameOf(input, schema))]),
];

/** What a link fills in. */
export type DecisionLink = {
  /** The operation whose form it fills in; null if that form is not on the page. */
  operation: AnyOperation | null;
  fields: Form;
  /** Their values, by the names of the operation's inputs. */
  values: Readonly<Record<string, unknown>>;
  /** Error messages by field; an empty name is for the whole link. */
  faults: Faults;
};

/**
 * Reads what the URL of a key's page fills in; null if it names no operation. Durations such as `90d` count from now. The page
 * is shown even if the link has errors.
 */
export function linkIn(query: ReadonlyMap<string, string>, key: KeyView, access: Access): DecisionLink | null {
  const name = query.get('operation') ?? '';
  if (name === '') return null;
  const operation = decisionNamed(name);
  if (operation === undefined) return refusedLink('The link to this page names an unknown decision.');
  const fault = faultOf(() => operation.check(access, { identifier: key.identifier }));
  if (fault !== null) return refusedLink(fault);
  const valueFor = (input: string, schema: z.ZodType) => query.get(formNameOf(input, schema)) ?? '';
  const set = shortFields(operation).filter((field) => valueFor(...field) !== '');
  const fields: Form = new Map(
    set.map(([input, schema]) => {
      const value = valueFor(input, schema);
      return [formNameOf(input, schema), factsOf(schema).kind === 'permissions' ? value.split(',') : [value]];
    }),
  );
  const { clock, approvalLeaseMs } = access;
  const nowMs = clock.nowMs();
  const { values, faults } = readFields(set, fields, nowMs);
  const unfit = faultOf(() => operation.refuse(key, values, { approvalLeaseMs, nowMs }));
  if (unfit !== null) faults.set('', unfit);
  return { operation, fields, values, faults };
}

function refusedLink(sentence: string): DecisionLink {
  return { operation: null, fields: new Map(), values: {}, faults: new Map([['', sentence]]) };
}

/** The note at the top of a page whose form a link may have filled in. */
export function linkNote(link: DecisionLink | null): Html {
  if (link === null || link.operation === null) return html``;
  const { name, texts } = link.operation;
  return html`<p class="note">The link that you followed may have filled in the form <a href="#${name}">${texts.button}</a>. Nothing is decided until you send that form and confirm it with your passkey.</p>`;
}
