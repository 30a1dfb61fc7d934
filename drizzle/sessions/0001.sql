CREATE TABLE `known_browsers` (
	`token_hash` blob NOT NULL,
	`profile_id` integer NOT NULL,
	`generation` integer NOT NULL,
	`address_hash` blob NOT NULL,
	`signed_in_at` integer NOT NULL,
	PRIMARY KEY(`token_hash`, `profile_id`),
	CONSTRAINT "known_browsers_token_hash" CHECK(length(`token_hash`) = 32),
	CONSTRAINT "known_browsers_address_hash" CHECK(length(`address_hash`) = 32)
) STRICT, WITHOUT ROWID;
CREATE INDEX `known_browsers_signed_in` ON `known_browsers` (`signed_in_at`);

CREATE TABLE `mail_counts` (
	`id` integer PRIMARY KEY NOT NULL,
	`counted_under` blob NOT NULL,
	`at` integer NOT NULL,
	CONSTRAINT "mail_counts_counted_under" CHECK(length(`counted_under`) = 32)
) STRICT;
CREATE INDEX `mail_counts_under` ON `mail_counts` (`counted_under`,`at`);
CREATE INDEX `mail_counts_at` ON `mail_counts` (`at`);

CREATE TABLE `settings` (
	`name` text PRIMARY KEY NOT NULL,
	`value` blob NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE `token_uses` (
	`identifier` text PRIMARY KEY NOT NULL,
	`used_at` integer NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE `untold_sign_ins` (
	`id` integer PRIMARY KEY NOT NULL,
	`profile_id` integer NOT NULL,
	`generation` integer NOT NULL,
	`address_hash` blob NOT NULL,
	`at` integer NOT NULL,
	`client_address` text NOT NULL,
	`client_agent` text NOT NULL,
	CONSTRAINT "untold_sign_ins_address_hash" CHECK(length(`address_hash`) = 32)
) STRICT;

CREATE TABLE `sign_ins` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`token_hash` blob NOT NULL,
	`profile_id` integer,
	`address_hash` blob,
	`admin` text,
	`generation` integer NOT NULL,
	`opened_by` text,
	`started_at` integer NOT NULL,
	`last_used_at` integer NOT NULL,
	`idle_until` integer NOT NULL,
	`ends_at` integer NOT NULL,
	`ended_at` integer,
	`client_address` text NOT NULL,
	`client_agent` text NOT NULL,
	CONSTRAINT "sign_ins_token_hash" CHECK(length(`token_hash`) = 32),
	CONSTRAINT "sign_ins_address_hash" CHECK(length(`address_hash`) = 32),
	CONSTRAINT "sign_ins_whose" CHECK((`profile_id` IS NULL) = (`address_hash` IS NULL) AND (`profile_id` IS NULL) <> (`admin` IS NULL)),
	CONSTRAINT "sign_ins_idle" CHECK(`idle_until` <= `ends_at`)
) STRICT;
CREATE UNIQUE INDEX `sign_ins_token_hash` ON `sign_ins` (`token_hash`);
CREATE INDEX `sign_ins_profile` ON `sign_ins` (`profile_id`) WHERE profile_id IS NOT NULL;
CREATE INDEX `sign_ins_admin` ON `sign_ins` (`admin`) WHERE admin IS NOT NULL;

CREATE TABLE `tickets` (
	`id` integer PRIMARY KEY NOT NULL,
	`purpose` text NOT NULL,
	`found_by` blob NOT NULL,
	`proof` blob,
	`profile_id` integer,
	`address_hash` blob,
	`admin` text,
	`generation` integer NOT NULL,
	`opened_by` text,
	`about` text NOT NULL,
	`made_at` integer NOT NULL,
	`until` integer NOT NULL,
	`kept_until` integer NOT NULL,
	`used_at` integer,
	`tries_left` integer,
	CONSTRAINT "tickets_purpose" CHECK(`purpose` IN ('sign-in code', 'hand-over', 'enrolment', 'registration', 'used challenge')),
	CONSTRAINT "tickets_found_by" CHECK(length(`found_by`) = 32),
	CONSTRAINT "tickets_proof" CHECK(length(`proof`) = 32),
	CONSTRAINT "tickets_address_hash" CHECK(length(`address_hash`) = 32),
	CONSTRAINT "tickets_whose" CHECK((`profile_id` IS NULL) = (`address_hash` IS NULL) AND (`profile_id` IS NULL) <> (`admin` IS NULL)),
	CONSTRAINT "tickets_tries_left" CHECK(`tries_left` >= 0)
) STRICT;
CREATE UNIQUE INDEX `tickets_one_each` ON `tickets` (`purpose`,`found_by`);
CREATE INDEX `tickets_profile` ON `tickets` (`profile_id`) WHERE profile_id IS NOT NULL;
CREATE INDEX `tickets_admin` ON `tickets` (`admin`) WHERE admin IS NOT NULL;
