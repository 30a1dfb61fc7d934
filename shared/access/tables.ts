// The tables of the sessions file (`sessions-file.ts`), one constant for each topic. They are no migrations: a table that is missing is
// made when the file is opened. Whoever changes a table that is there gives the file another APPLICATION_ID, and everybody
// signs in anew. Times are milliseconds since 1970. No token, code, challenge or address that lets anybody in is stored in
// clear, only its SHA-256.

/** Values of the file itself: `key` is its random key (`fileKey`). */
const SETTINGS = `CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID`;

/**
 * Sessions of owners (profile_id, generation and address_hash) and admins (admin and generation). `opened_by` is the identifier
 * of the platform's token whose hand-over led to it, and is the same in the tables of codes and tokens of `profilectl`. A
 * session that was ended, or whose time is over, stays for 30 days, so that people see from where they were signed in.
 */
const SESSIONS = `CREATE TABLE IF NOT EXISTS sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  token_hash BLOB NOT NULL UNIQUE CHECK (length(token_hash) = 32),
  profile_id INTEGER,
  address_hash BLOB CHECK (length(address_hash) = 32),
  admin TEXT,
  generation INTEGER NOT NULL,
  opened_by TEXT,
  started_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  ended_at INTEGER,
  client_address TEXT NOT NULL,
  client_agent TEXT NOT NULL,
  CHECK ((profile_id IS NULL) = (address_hash IS NULL) AND (profile_id IS NULL) <> (admin IS NULL))
) STRICT;
CREATE INDEX IF NOT EXISTS sessions_profile ON sessions (profile_id) WHERE profile_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS sessions_admin ON sessions (admin) WHERE admin IS NOT NULL;
CREATE INDEX IF NOT EXISTS sessions_last_used ON sessions (last_used_at)`;

/**
 * Codes that were asked for, found by the SHA-256 of the asking browser's secret. profile_id is 0 where the name and the
 * address that were typed belong to no profile: then nobody knows the code.
 */
const SIGN_IN_CODES = `CREATE TABLE IF NOT EXISTS sign_in_codes (
  secret_hash BLOB PRIMARY KEY CHECK (length(secret_hash) = 32),
  code_hash BLOB NOT NULL CHECK (length(code_hash) = 32),
  asked_for BLOB NOT NULL CHECK (length(asked_for) = 32),
  profile_id INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  address_hash BLOB NOT NULL CHECK (length(address_hash) = 32),
  asked_at INTEGER NOT NULL,
  tries_left INTEGER NOT NULL CHECK (tries_left >= 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS sign_in_codes_asked ON sign_in_codes (asked_at)`;

/** Browsers in which an owner has signed in, by the SHA-256 of a cookie; a browser may know several owners. */
const KNOWN_BROWSERS = `CREATE TABLE IF NOT EXISTS known_browsers (
  token_hash BLOB NOT NULL CHECK (length(token_hash) = 32),
  profile_id INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  address_hash BLOB NOT NULL CHECK (length(address_hash) = 32),
  signed_in_at INTEGER NOT NULL,
  PRIMARY KEY (token_hash, profile_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS known_browsers_signed_in ON known_browsers (signed_in_at)`;

/** When sign-in mails were asked for, by keyed hash of what they are counted under. */
const MAIL_COUNTS = `CREATE TABLE IF NOT EXISTS mail_counts (
  id INTEGER PRIMARY KEY,
  counted_under BLOB NOT NULL CHECK (length(counted_under) = 32),
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS mail_counts_under ON mail_counts (counted_under, at);
CREATE INDEX IF NOT EXISTS mail_counts_at ON mail_counts (at)`;

/** Addresses at which admins register a passkey, by the SHA-256 of their secret. One that was used is gone. */
const ENROLMENTS = `CREATE TABLE IF NOT EXISTS enrolments (
  secret_hash BLOB PRIMARY KEY CHECK (length(secret_hash) = 32),
  admin TEXT NOT NULL,
  generation INTEGER NOT NULL,
  made_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID`;

/**
 * Challenges for decisions and registrations by passkey, by their SHA-256, with what each is for: `about` is the decision that
 * it was made for, as text, and admin who is to take it. One that was used stays until its time is over, since all are counted.
 */
const CHALLENGES = `CREATE TABLE IF NOT EXISTS challenges (
  challenge_hash BLOB PRIMARY KEY CHECK (length(challenge_hash) = 32),
  purpose TEXT NOT NULL CHECK (purpose IN ('enrolment', 'decision')),
  admin TEXT NOT NULL,
  generation INTEGER NOT NULL,
  about TEXT NOT NULL,
  made_at INTEGER NOT NULL,
  is_used INTEGER NOT NULL DEFAULT 0 CHECK (is_used IN (0, 1))
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS challenges_made ON challenges (made_at)`;

/** Challenges with which an admin has signed in, by their SHA-256, for a day. */
const USED_CHALLENGES = `CREATE TABLE IF NOT EXISTS used_challenges (
  challenge_hash BLOB PRIMARY KEY CHECK (length(challenge_hash) = 32),
  used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID`;

/**
 * Tokens of people: what their `profilectl` on other machines shows. Bound to owners and admins as sessions are; `machine` is
 * what that machine calls itself. One that was ended, or whose time is over, stays for 30 days.
 */
const PERSON_TOKENS = `CREATE TABLE IF NOT EXISTS person_tokens (
  identifier TEXT PRIMARY KEY,
  token_hash BLOB NOT NULL CHECK (length(token_hash) = 32),
  profile_id INTEGER,
  address_hash BLOB CHECK (length(address_hash) = 32),
  admin TEXT,
  generation INTEGER NOT NULL,
  opened_by TEXT,
  machine TEXT NOT NULL,
  client_address TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  ended_at INTEGER,
  CHECK ((profile_id IS NULL) = (address_hash IS NULL) AND (profile_id IS NULL) <> (admin IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS person_tokens_profile ON person_tokens (profile_id) WHERE profile_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS person_tokens_admin ON person_tokens (admin) WHERE admin IS NOT NULL`;

/**
 * Codes that let a `profilectl` in, by their SHA-256, with what the one that asked has to show for a token, and whose consent
 * they are. One that was used stays for a day with the token that it made, so that a second use is noticed.
 */
const CLI_CODES = `CREATE TABLE IF NOT EXISTS cli_codes (
  code_hash BLOB PRIMARY KEY CHECK (length(code_hash) = 32),
  code_challenge TEXT NOT NULL,
  redirect_uri TEXT,
  machine TEXT NOT NULL,
  profile_id INTEGER,
  address_hash BLOB CHECK (length(address_hash) = 32),
  admin TEXT,
  generation INTEGER NOT NULL,
  opened_by TEXT,
  made_at INTEGER NOT NULL,
  token_made TEXT,
  tries_left INTEGER NOT NULL CHECK (tries_left >= 0),
  CHECK ((profile_id IS NULL) = (address_hash IS NULL) AND (profile_id IS NULL) <> (admin IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS cli_codes_made ON cli_codes (made_at)`;

/** When tokens of platforms were last used, to the minute. */
const TOKEN_USES = `CREATE TABLE IF NOT EXISTS token_uses (
  identifier TEXT PRIMARY KEY,
  used_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID`;

/**
 * Addresses to which a platform's backend sends a user who is signed in there, by the SHA-256 of their secret, with the
 * identifier of the token that asked for them. One that was used is gone.
 */
const HAND_OVERS = `CREATE TABLE IF NOT EXISTS hand_overs (
  secret_hash BLOB PRIMARY KEY CHECK (length(secret_hash) = 32),
  profile_id INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  address_hash BLOB NOT NULL CHECK (length(address_hash) = 32),
  opened_by TEXT NOT NULL,
  made_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS hand_overs_made ON hand_overs (made_at)`;

/**
 * Sign-ins of which an owner is to be told, from their session's transaction until the main database has them, mostly for
 * milliseconds.
 */
const UNTOLD_SIGN_INS = `CREATE TABLE IF NOT EXISTS untold_sign_ins (
  id INTEGER PRIMARY KEY,
  profile_id INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  address_hash BLOB NOT NULL CHECK (length(address_hash) = 32),
  at INTEGER NOT NULL,
  client_address TEXT NOT NULL,
  client_agent TEXT NOT NULL
) STRICT`;

/** Every statement that makes the sessions file, in order. */
export const TABLES: readonly string[] = [
  SETTINGS,
  SESSIONS,
  SIGN_IN_CODES,
  KNOWN_BROWSERS,
  MAIL_COUNTS,
  ENROLMENTS,
  CHALLENGES,
  USED_CHALLENGES,
  PERSON_TOKENS,
  CLI_CODES,
  TOKEN_USES,
  HAND_OVERS,
  UNTOLD_SIGN_INS,
].flatMap((text) => text.split(';\n'));
