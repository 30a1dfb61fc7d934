import { z } from 'zod';
import { CONTROL, CONTROL_BUT_LINE_FEED, codePoints, countText, normaliseText } from '../../text.ts';

// What the schemas of fields are made of: types and rules with their sentences. Texts are trimmed here, and nowhere else.

/**
 * A kind of text and its bounds in code points once it is trimmed (specification 8); `lines` allows line feeds. `short` is the
 * sentence for a text that lacks so many, where it is another than for one that is too long.
 */
type TextRule = { label: string; least: number; most: number; lines: boolean; short?: (missing: string) => string };

/** The schema of a text, which may be empty too where it need not be there: CRLF and CR become LF, white space at its ends goes, and then its rule must hold. */
export function textInput({ label, least, most, lines, short }: TextRule, mayBeEmpty = least === 0) {
  return trimmed(label, (text) => {
    const length = codePoints(text);
    if (length === 0 && mayBeEmpty) return null;
    if (length < least && short) return short(countText(least - length, 'more character'));
    if (length < least || length > most) {
      return `The ${label} must have ${least === 0 ? 'at most' : `${least} to`} ${most} characters; it has ${length}.`;
    }
    if ((lines ? CONTROL_BUT_LINE_FEED : CONTROL).test(text) || !text.isWellFormed()) {
      return `The ${label} may not contain control characters${lines ? ' other than line feeds' : ''}.`;
    }
    return null;
  }).meta({ ...(!mayBeEmpty && { minLength: least }), maxLength: most });
}

/** A text that is trimmed before a function looks at it, which returns a sentence where something is wrong. */
export function trimmed(label: string, fault: (text: string) => string | null) {
  return plain(label).overwrite(normaliseText).check(keeping(fault));
}

/** A text that is compared as it is, such as an identifier. */
export function plain(label: string) {
  return z.string({ error: missingOr(label, `The ${label} must be a text.`) });
}

/** A check by a function that returns a sentence where something is wrong. */
export function keeping<T>(fault: (value: T) => string | null): z.core.CheckFn<T> {
  return ({ value, issues }) => {
    const message = fault(value);
    if (message !== null) issues.push({ code: 'custom', message, input: value });
  };
}

/** The sentence for a value of the wrong type, or for one that is missing. */
export function missingOr(label: string, sentence: string) {
  return ({ input }: { input?: unknown }) =>
    input === undefined || input === null ? `The ${label} is missing.` : sentence;
}

/** A whole number between two bounds, with the one sentence for all that is wrong with it. */
export function whole(label: string, least: number, most: number, sentence: string) {
  const error = missingOr(label, sentence);
  return z.int({ error }).min(least, { error }).max(most, { error });
}

/** A text that may be left out, or be empty, which is the same; it is null then. */
export function optionalText<T extends z.ZodType<string>>(schema: T) {
  return schema.nullish().transform((text) => text || null);
}
