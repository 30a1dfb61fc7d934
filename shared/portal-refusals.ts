import { type Refusal, retryAfter } from './refusal.ts';

/** The refusals of `/developers` and `/manage`; part of the table in `refusals.ts`. */
export const PORTAL_REFUSALS = {
  /** This kind of person may never do this, whatever the input (`shared/operations.ts`). */
  forbidden: {
    status: 403,
    sentence: 'You are not allowed to do this.',
    when: 'the holder of this token may not do this; the sentence says why',
  },
  /** A form under `/developers` that breaks a rule; the page says which. */
  refused_form: { status: 422, sentence: 'Something in this form can’t be accepted; nothing was done.' },
  /** A form that is not encoded the way browsers encode forms. */
  bad_form: { status: 400, sentence: 'The form data is malformed; nothing was done.' },
  form_too_long: {
    status: 413,
    sentence: 'The form is longer than 64 KiB; nothing was done. Shorten what you typed.',
  },
  not_a_form: { status: 415, sentence: 'This path only accepts forms, as application/x-www-form-urlencoded.' },
  cross_site: {
    status: 403,
    sentence:
      'This form was not sent by a page of this site; nothing was done. Open the form on this site, and send it from there.',
  },
  /** The disk is full or broken. Only pages say so; other paths respond with `internal`. */
  not_written: {
    status: 503,
    sentence:
      'The server can’t store anything right now, because its disk is full or broken; nothing was done. Try again in a few minutes, and tell the people who run this service.',
    isLogged: true,
    headers: () => retryAfter({ retryAfterSeconds: 60 }),
  },
  no_sign_in: { status: 503, sentence: 'You can’t sign in here yet; nothing was done.' },
  signed_out: { status: 403, sentence: 'You are not signed in, or your session has expired; nothing was done.' },
  /** A body of `/manage/v1` that breaks a rule. */
  bad_body: { status: 400, exitCode: 2, when: 'the body is not the JSON object that this path accepts' },
  /** The request to `/manage/v1` currently breaks a rule of the product. */
  not_possible: {
    status: 409,
    when: 'a rule does not currently allow it; the sentence says which',
  },
  body_too_long: {
    status: 413,
    sentence: 'The body is longer than 64 KiB; nothing was done.',
    when: 'the body is longer than 64 KiB',
  },
  not_json: {
    status: 415,
    sentence: 'This path only accepts JSON, as application/json.',
    when: 'the body is not application/json',
  },
  /** Profiles that a backend sends to `/manage/v1/profiles`. */
  too_many_lines: {
    status: 413,
    when: 'the body has more lines or bytes than a request may have; the sentence names the limit',
  },
  lines_cut_off: {
    status: 408,
    exitCode: 75,
    headers: () => ({ Connection: 'close' }),
    when: 'less than 1 KiB/s of the body arrived over 20 s; with `partial=1` complete batches were imported, otherwise nothing',
  },
  not_lines: {
    status: 415,
    sentence: 'This path only accepts JSON Lines, as application/jsonl.',
    when: 'the body is not application/jsonl, or it is compressed',
  },
  feed_running: {
    status: 429,
    exitCode: 75,
    sentence: 'An import is already running; try again when it has finished.',
    headers: retryAfter,
    when: 'another import is already running',
  },
  /** Something has changed since it was shown to the person who confirmed it. */
  changed_since: {
    status: 409,
    when: 'the key has changed since it was shown; the sentence says what',
  },
} as const satisfies Record<string, Refusal>;
