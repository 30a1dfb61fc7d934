-- IF NOT EXISTS: files of the versions that had no migrations keep these tables with their rows.
CREATE TABLE IF NOT EXISTS `known_browsers` (
	`token_hash` blob NOT NULL,
	`profile_id` integer NOT NULL,
	`generation` integer NOT NULL,
	`address_hash` blob NOT NULL,
	`signed_in_at` integer NOT NULL,
	PRIMARY KEY(`token_hash`, `profile_id`),
	CONSTRAINT "known_browsers_token_hash" CHECK(length("known_browsers"."token_hash") = 32),
	CONSTRAINT "known_browsers_address_hash" CHECK(length("known_browsers"."address_hash") = 32)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS `known_browsers_signed_in` ON `known_browsers` (`signed_in_at`);--> statement-breakpoint
CREATE TABLE IF NOT EXISTS `mail_counts` (
	`id` integer PRIMARY KEY NOT NULL,
	`counted_under` blob NOT NULL,
	`at` integer NOT NULL,
	CONSTRAINT "mail_counts_counted_under" CHECK(length("mail_counts"."counted_under") = 32)
) STRICT;
--> statement-breakpoint
CREATE INDEX IF NOT EXISTS `mail_counts_under` ON `mail_counts` (`counted_under`,`at`);--> statement-breakpoint
CREATE INDEX IF NOT EXISTS `mail_counts_at` ON `mail_counts` (`at`);--> statement-breakpoint
CREATE TABLE IF NOT EXISTS `settings` (
	`name` text PRIMARY KEY NOT NULL,
	`value` blob NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS `token_uses` (
	`identifier` text PRIMARY KEY NOT NULL,
	`used_at` integer NOT NULL
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE IF NOT EXISTS `untold_sign_ins` (
	`id` integer PRIMARY KEY NOT NULL,
	`profile_id` integer NOT NULL,
	`generation` integer NOT NULL,
	`address_hash` blob NOT NULL,
	`at` integer NOT NULL,
	`client_address` text NOT NULL,
	`client_agent` text NOT NULL,
	CONSTRAINT "untold_sign_ins_address_hash" CHECK(length("untold_sign_ins"."address_hash") = 32)
) STRICT;
