/** The help of `keys reject` and `keys revoke` about the reason. It has a file of its own, so that help loads no database. */
export const REASON_HELP =
  '\nOn a terminal the key is shown, a missing reason is asked for, and nothing happens before a yes.\nOff a terminal, or with --yes, --reason is needed.';
