CREATE TABLE `key_attempts` (
	`identifier` text NOT NULL,
	`number` integer NOT NULL,
	`by` text NOT NULL,
	`started_at` integer NOT NULL,
	`lease_ends_at` integer NOT NULL,
	`address` text,
	`permissions` text NOT NULL,
	`rate_limits` text NOT NULL,
	`expires_at` integer,
	`result` text NOT NULL,
	`by_kind` text DEFAULT 'operator' NOT NULL CONSTRAINT "key_attempts_by_kind" CHECK(`by_kind` IN ('operator', 'admin', 'owner', 'backend', 'service')),
	`retire_old_at` integer,
	PRIMARY KEY(`identifier`, `number`),
	FOREIGN KEY (`identifier`) REFERENCES `api_keys`(`identifier`),
	CONSTRAINT "key_attempts_result" CHECK(`result` IN ('open', 'accepted', 'refused', 'not confirmed', 'voided')),
	CONSTRAINT "key_attempts_number" CHECK(`number` >= 1)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX `key_attempts_open` ON `key_attempts` (`identifier`) WHERE result = 'open';

CREATE TABLE `profile_names` (
	`folded` text PRIMARY KEY NOT NULL,
	`profile_id` integer NOT NULL,
	`position` integer NOT NULL,
	`name` text NOT NULL,
	FOREIGN KEY (`profile_id`) REFERENCES `profiles`(`id`) ON DELETE cascade,
	CONSTRAINT "profile_names_folded" CHECK(length(`folded`) BETWEEN 1 AND 64),
	CONSTRAINT "profile_names_name" CHECK(length(`name`) BETWEEN 1 AND 64),
	CONSTRAINT "profile_names_position" CHECK(`position` >= 0)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX `profile_names_profile` ON `profile_names` (`profile_id`,`position`);

-- The large texts come last, so that the other columns are read without them. Generated columns are not stored twice.
CREATE TABLE `profiles` (
	`id` integer PRIMARY KEY NOT NULL,
	`revision` integer NOT NULL,
	`written_at` integer NOT NULL,
	`followers_count` real NOT NULL,
	`show_followers_count` integer NOT NULL,
	`show_on_leaderboard` integer NOT NULL,
	`auth_id` text,
	`email` text,
	`profile` text NOT NULL,
	`links` text NOT NULL,
	`username` text GENERATED ALWAYS AS (profile ->> 'username') VIRTUAL NOT NULL,
	`banned` integer GENERATED ALWAYS AS (profile ->> 'banned') VIRTUAL NOT NULL,
	`views` real GENERATED ALWAYS AS (profile ->> 'viewsCount') VIRTUAL NOT NULL,
	CONSTRAINT "profiles_id" CHECK(`id` BETWEEN 1 AND 9007199254740991),
	CONSTRAINT "profiles_banned" CHECK(`banned` IN (0, 1)),
	CONSTRAINT "profiles_show_followers_count" CHECK(`show_followers_count` IN (0, 1)),
	CONSTRAINT "profiles_show_on_leaderboard" CHECK(`show_on_leaderboard` IN (0, 1)),
	CONSTRAINT "profiles_followers_count" CHECK(`followers_count` >= 0)
) STRICT;
CREATE UNIQUE INDEX `profiles_auth_id` ON `profiles` (`auth_id`);
CREATE INDEX `profiles_board` ON `profiles` (`views` DESC,`id`) WHERE banned = 0 AND show_on_leaderboard = 1;
CREATE INDEX `profiles_banned` ON `profiles` (`id`) WHERE banned = 1;

CREATE TABLE `key_usage` (
	`identifier` text NOT NULL,
	`day` integer NOT NULL,
	`ok` integer NOT NULL,
	`not_found` integer NOT NULL,
	`forbidden` integer NOT NULL,
	`malformed` integer NOT NULL,
	`limited` integer NOT NULL,
	`failed` integer NOT NULL,
	`last_used_at` integer NOT NULL,
	PRIMARY KEY(`identifier`, `day`),
	FOREIGN KEY (`identifier`) REFERENCES `api_keys`(`identifier`),
	CONSTRAINT "key_usage_counts" CHECK(min(`ok`, `not_found`, `forbidden`, `malformed`, `limited`, `failed`) >= 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX `key_usage_day` ON `key_usage` (`day`);
CREATE INDEX `key_usage_limited` ON `key_usage` (`day`,`limited`) WHERE limited > 0;
CREATE TABLE `usage_days` (
	`day` integer PRIMARY KEY NOT NULL,
	`ok` integer NOT NULL,
	`not_found` integer NOT NULL,
	`forbidden` integer NOT NULL,
	`malformed` integer NOT NULL,
	`limited` integer NOT NULL,
	`failed` integer NOT NULL
) STRICT;

CREATE TABLE `facts` (
	`name` text PRIMARY KEY NOT NULL,
	`value` text NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE `admins` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`name` text NOT NULL,
	`folded` text NOT NULL,
	`user_handle` blob NOT NULL,
	`added_at` integer NOT NULL,
	CONSTRAINT "admins_name" CHECK(length(`name`) BETWEEN 1 AND 64),
	CONSTRAINT "admins_user_handle" CHECK(length(`user_handle`) = 32)
) STRICT;
CREATE UNIQUE INDEX `admins_folded` ON `admins` (`folded`);

CREATE TABLE `passkeys` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`admin_id` integer NOT NULL,
	`credential_id` blob NOT NULL,
	`public_key` blob NOT NULL,
	`sign_count` integer NOT NULL,
	`is_backup_eligible` integer NOT NULL,
	`name` text NOT NULL,
	`registered_at` integer NOT NULL,
	`registered_from` text NOT NULL,
	`registered_by` text NOT NULL,
	`last_used_at` integer,
	FOREIGN KEY (`admin_id`) REFERENCES `admins`(`id`) ON DELETE cascade,
	CONSTRAINT "passkeys_credential_id" CHECK(length(`credential_id`) BETWEEN 1 AND 1023),
	CONSTRAINT "passkeys_sign_count" CHECK(`sign_count` BETWEEN 0 AND 4294967295),
	CONSTRAINT "passkeys_is_backup_eligible" CHECK(`is_backup_eligible` IN (0, 1)),
	CONSTRAINT "passkeys_name" CHECK(length(`name`) BETWEEN 1 AND 64)
) STRICT;
CREATE UNIQUE INDEX `passkeys_credential_id` ON `passkeys` (`credential_id`);
CREATE INDEX `passkeys_admin` ON `passkeys` (`admin_id`);

CREATE TABLE `backend_tokens` (
	`identifier` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`folded` text NOT NULL,
	`token_hash` blob NOT NULL,
	`rights` text NOT NULL,
	`is_without_address` integer NOT NULL,
	`added_at` integer NOT NULL,
	`last_used_at` integer,
	`erased_on` integer DEFAULT 0 NOT NULL,
	`erased` integer DEFAULT 0 NOT NULL,
	CONSTRAINT "backend_tokens_identifier" CHECK(length(`identifier`) = 8),
	CONSTRAINT "backend_tokens_name" CHECK(length(`name`) BETWEEN 1 AND 64),
	CONSTRAINT "backend_tokens_token_hash" CHECK(length(`token_hash`) = 32),
	CONSTRAINT "backend_tokens_rights" CHECK(json_array_length(`rights`) > 0),
	CONSTRAINT "backend_tokens_is_without_address" CHECK(`is_without_address` IN (0, 1)),
	CONSTRAINT "backend_tokens_erased" CHECK(`erased` >= 0)
) STRICT;
CREATE UNIQUE INDEX `backend_tokens_folded` ON `backend_tokens` (`folded`);

CREATE TABLE `sign_ins` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`token_hash` blob NOT NULL,
	`profile_id` integer,
	`admin_id` integer,
	`opened_by` text,
	`started_at` integer NOT NULL,
	`last_used_at` integer NOT NULL,
	`idle_until` integer NOT NULL,
	`ends_at` integer NOT NULL,
	`client_address` text NOT NULL,
	`client_agent` text NOT NULL,
	FOREIGN KEY (`profile_id`) REFERENCES `profiles`(`id`) ON DELETE cascade,
	FOREIGN KEY (`admin_id`) REFERENCES `admins`(`id`) ON DELETE cascade,
	FOREIGN KEY (`opened_by`) REFERENCES `backend_tokens`(`identifier`) ON DELETE cascade,
	CONSTRAINT "sign_ins_token_hash" CHECK(length(`token_hash`) = 32),
	CONSTRAINT "sign_ins_whose" CHECK((`profile_id` IS NULL) <> (`admin_id` IS NULL)),
	CONSTRAINT "sign_ins_idle" CHECK(`idle_until` <= `ends_at`)
) STRICT;
CREATE UNIQUE INDEX `sign_ins_token_hash` ON `sign_ins` (`token_hash`);
CREATE INDEX `sign_ins_profile` ON `sign_ins` (`profile_id`);
CREATE INDEX `sign_ins_admin` ON `sign_ins` (`admin_id`);
CREATE INDEX `sign_ins_opened_by` ON `sign_ins` (`opened_by`);
CREATE INDEX `sign_ins_idle_until` ON `sign_ins` (`idle_until`);

CREATE TABLE `tickets` (
	`hash` blob PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`proof` blob,
	`profile_id` integer,
	`admin_id` integer,
	`opened_by` text,
	`until` integer NOT NULL,
	`tries_left` integer,
	FOREIGN KEY (`profile_id`) REFERENCES `profiles`(`id`) ON DELETE cascade,
	FOREIGN KEY (`admin_id`) REFERENCES `admins`(`id`) ON DELETE cascade,
	FOREIGN KEY (`opened_by`) REFERENCES `backend_tokens`(`identifier`) ON DELETE cascade,
	CONSTRAINT "tickets_hash" CHECK(length(`hash`) = 32),
	CONSTRAINT "tickets_kind" CHECK(`kind` IN ('code', 'hand-over', 'enrolment', 'registration', 'passkey')),
	CONSTRAINT "tickets_proof" CHECK(length(`proof`) = 32),
	CONSTRAINT "tickets_tries_left" CHECK(`tries_left` >= 0)
) STRICT, WITHOUT ROWID;
CREATE INDEX `tickets_profile` ON `tickets` (`profile_id`);
CREATE INDEX `tickets_admin` ON `tickets` (`admin_id`) WHERE admin_id IS NOT NULL;
CREATE INDEX `tickets_opened_by` ON `tickets` (`opened_by`) WHERE opened_by IS NOT NULL;
CREATE INDEX `tickets_until` ON `tickets` (`until`);

-- Whoever reads another mailbox now may not be who signed in. A change of case is no change.
CREATE TRIGGER `profiles_address_changed` AFTER UPDATE OF `email` ON `profiles`
WHEN lower(coalesce(NEW.`email`, '')) <> lower(coalesce(OLD.`email`, ''))
BEGIN
	DELETE FROM `sign_ins` WHERE `profile_id` = NEW.`id`;
	DELETE FROM `tickets` WHERE `profile_id` = NEW.`id`;
END;

CREATE TABLE `mails` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`profile_id` integer,
	`identifier` text,
	`kind` text NOT NULL,
	`to` text,
	`subject` text NOT NULL,
	`body` text NOT NULL,
	`at` integer NOT NULL,
	`tries` integer DEFAULT 0 NOT NULL,
	`next_try_at` integer NOT NULL,
	`result` text DEFAULT 'waiting' NOT NULL,
	`fault` text,
	FOREIGN KEY (`profile_id`) REFERENCES `profiles`(`id`) ON DELETE cascade,
	FOREIGN KEY (`identifier`) REFERENCES `api_keys`(`identifier`),
	CONSTRAINT "mails_tries" CHECK(`tries` >= 0),
	CONSTRAINT "mails_result" CHECK(`result` IN ('waiting', 'accepted', 'refused', 'dropped'))
) STRICT;
CREATE INDEX `mails_profile` ON `mails` (`profile_id`,`kind`,`at`);
CREATE INDEX `mails_waiting` ON `mails` ((kind = 'address'),`next_try_at`) WHERE result = 'waiting';
CREATE INDEX `mails_undelivered` ON `mails` (`id`) WHERE result <> 'accepted';
CREATE INDEX `mails_reminders` ON `mails` (`identifier`,`at`) WHERE kind = 'reminder';

CREATE TABLE `erased_profiles` (
	`id` integer PRIMARY KEY NOT NULL,
	`at` integer NOT NULL
) STRICT;
CREATE INDEX `erased_profiles_at` ON `erased_profiles` (`at`);

CREATE TABLE "api_keys" (
	`identifier` text PRIMARY KEY NOT NULL,
	`profile_id` integer,
	`name` text NOT NULL,
	`description` text NOT NULL,
	`project_url` text,
	`expected_usage` text,
	`state` text NOT NULL,
	`requested_permissions` text NOT NULL,
	`permissions` text,
	`rate_limits` text,
	`requested_at` integer NOT NULL,
	`decided_at` integer,
	`expires_at` integer,
	`secret_hash` blob,
	`attempt_number` integer DEFAULT 0 NOT NULL,
	`revision` text DEFAULT (lower(hex(randomblob(8)))) NOT NULL,
	`successor_of` text,
	`searched` text DEFAULT '' NOT NULL,
	`searched_address` text,
	FOREIGN KEY (`profile_id`) REFERENCES `profiles`(`id`) ON DELETE set null,
	FOREIGN KEY (`successor_of`) REFERENCES `api_keys`(`identifier`),
	CONSTRAINT "api_keys_identifier" CHECK(length(`identifier`) = 8 AND `identifier` NOT GLOB '*[^0-9A-Za-z]*'),
	CONSTRAINT "api_keys_state" CHECK(`state` IN ('pending', 'Active', 'suspended', 'rejected', 'withdrawn', 'revoked')),
	CONSTRAINT "api_keys_owner" CHECK(`profile_id` IS NOT NULL OR `state` NOT IN ('pending', 'Active', 'suspended')),
	CONSTRAINT "api_keys_name" CHECK(length(`name`) BETWEEN 1 AND 255 OR (`name` = '' AND `profile_id` IS NULL)),
	CONSTRAINT "api_keys_description" CHECK(length(`description`) BETWEEN 80 AND 2000 OR (`description` = '' AND `profile_id` IS NULL)),
	CONSTRAINT "api_keys_project_url" CHECK(length(`project_url`) <= 2048),
	CONSTRAINT "api_keys_expected_usage" CHECK(length(`expected_usage`) <= 1000),
	CONSTRAINT "api_keys_secret" CHECK((`state` IN ('Active', 'suspended')) = (`secret_hash` IS NOT NULL)),
	CONSTRAINT "api_keys_secret_hash" CHECK(length(`secret_hash`) = 32),
	CONSTRAINT "api_keys_grant" CHECK(`state` IN ('pending', 'rejected', 'withdrawn') OR (`permissions` IS NOT NULL AND `rate_limits` IS NOT NULL)),
	CONSTRAINT "api_keys_decided" CHECK((`state` = 'pending') = (`decided_at` IS NULL)),
	CONSTRAINT "api_keys_attempt_number" CHECK(`attempt_number` >= 0)
) STRICT;
CREATE INDEX `api_keys_profile` ON `api_keys` (`profile_id`);
CREATE INDEX `api_keys_state` ON `api_keys` (`state`,`requested_at`);
CREATE INDEX `api_keys_expires` ON `api_keys` (`state`,`expires_at`) WHERE expires_at IS NOT NULL;

CREATE TRIGGER `api_keys_never_deleted` BEFORE DELETE ON `api_keys`
BEGIN
	SELECT RAISE(ABORT, 'keys are never deleted');
END;

CREATE TABLE `events` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`at` integer NOT NULL,
	`by` text NOT NULL,
	`by_kind` text NOT NULL,
	`subject` text NOT NULL,
	`event` text NOT NULL,
	`about` text,
	`profile_id` integer,
	`data` text,
	FOREIGN KEY (`profile_id`) REFERENCES `profiles`(`id`) ON DELETE set null,
	CONSTRAINT "events_by_kind" CHECK(`by_kind` IN ('operator', 'admin', 'owner', 'backend', 'service')),
	CONSTRAINT "events_subject" CHECK(`subject` IN ('key', 'admin', 'token', 'profile', 'database'))
) STRICT;
CREATE INDEX `events_about` ON `events` (`about`,`id`);
CREATE INDEX `events_profile` ON `events` (`profile_id`) WHERE profile_id IS NOT NULL;

CREATE TRIGGER `events_never_deleted` BEFORE DELETE ON `events`
BEGIN
	SELECT RAISE(ABORT, 'the history is append-only');
END;

-- The erasure of a profile takes its id out, and blanks the data of its keys' entries.
CREATE TRIGGER `events_never_changed` BEFORE UPDATE ON `events`
WHEN NEW.`id` <> OLD.`id` OR NEW.`at` <> OLD.`at` OR NEW.`by` <> OLD.`by` OR NEW.`by_kind` <> OLD.`by_kind`
	OR NEW.`subject` <> OLD.`subject` OR NEW.`event` <> OLD.`event` OR NEW.`about` IS NOT OLD.`about`
	OR (NEW.`profile_id` IS NOT NULL AND NEW.`profile_id` IS NOT OLD.`profile_id`)
	OR (NEW.`data` IS NOT NULL AND NEW.`data` IS NOT OLD.`data`)
BEGIN
	SELECT RAISE(ABORT, 'the history is append-only');
END;

-- What keys have spent of their rate limits, as a log of short rows: shared/limits/stored.ts.
CREATE TABLE `key_quotas` (
	`id` integer PRIMARY KEY NOT NULL,
	`at` real NOT NULL,
	`spent` text NOT NULL
) STRICT;
