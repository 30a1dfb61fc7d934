CREATE TABLE `api_keys` (
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
	FOREIGN KEY (`profile_id`) REFERENCES `profiles`(`id`) ON UPDATE no action ON DELETE set null,
	CONSTRAINT "api_keys_identifier" CHECK(length("api_keys"."identifier") = 8 AND "api_keys"."identifier" NOT GLOB '*[^0-9A-Za-z]*'),
	CONSTRAINT "api_keys_state" CHECK("api_keys"."state" IN ('pending', 'Active', 'rejected', 'withdrawn', 'revoked', 'expired')),
	CONSTRAINT "api_keys_owner" CHECK("api_keys"."profile_id" IS NOT NULL OR "api_keys"."state" NOT IN ('pending', 'Active')),
	CONSTRAINT "api_keys_name" CHECK(length("api_keys"."name") BETWEEN 1 AND 255 OR ("api_keys"."name" = '' AND "api_keys"."profile_id" IS NULL)),
	CONSTRAINT "api_keys_description" CHECK(length("api_keys"."description") BETWEEN 80 AND 2000 OR ("api_keys"."description" = '' AND "api_keys"."profile_id" IS NULL)),
	CONSTRAINT "api_keys_project_url" CHECK(length("api_keys"."project_url") <= 2048),
	CONSTRAINT "api_keys_expected_usage" CHECK(length("api_keys"."expected_usage") <= 1000),
	CONSTRAINT "api_keys_secret" CHECK(("api_keys"."state" = 'Active') = ("api_keys"."secret_hash" IS NOT NULL)),
	CONSTRAINT "api_keys_secret_hash" CHECK(length("api_keys"."secret_hash") = 32),
	CONSTRAINT "api_keys_grant" CHECK("api_keys"."state" NOT IN ('Active', 'revoked', 'expired') OR ("api_keys"."permissions" IS NOT NULL AND "api_keys"."rate_limits" IS NOT NULL)),
	CONSTRAINT "api_keys_decided" CHECK(("api_keys"."state" = 'pending') = ("api_keys"."decided_at" IS NULL)),
	CONSTRAINT "api_keys_attempt_number" CHECK("api_keys"."attempt_number" >= 0)
) STRICT;
--> statement-breakpoint
CREATE INDEX `api_keys_profile` ON `api_keys` (`profile_id`);--> statement-breakpoint
CREATE INDEX `api_keys_state` ON `api_keys` (`state`,`requested_at`);--> statement-breakpoint
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
	PRIMARY KEY(`identifier`, `number`),
	FOREIGN KEY (`identifier`) REFERENCES `api_keys`(`identifier`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "key_attempts_result" CHECK("key_attempts"."result" IN ('open', 'accepted', 'refused', 'not confirmed', 'voided')),
	CONSTRAINT "key_attempts_number" CHECK("key_attempts"."number" >= 1)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `key_attempts_open` ON `key_attempts` (`identifier`) WHERE result = 'open';--> statement-breakpoint
CREATE TABLE `key_events` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`identifier` text NOT NULL,
	`at` integer NOT NULL,
	`by` text NOT NULL,
	`event` text NOT NULL,
	`from_state` text,
	`to_state` text NOT NULL,
	`detail` text,
	FOREIGN KEY (`identifier`) REFERENCES `api_keys`(`identifier`) ON UPDATE no action ON DELETE no action
) STRICT;
--> statement-breakpoint
CREATE INDEX `key_events_identifier` ON `key_events` (`identifier`,`id`);--> statement-breakpoint
CREATE TABLE `links` (
	`profile_id` integer NOT NULL,
	`position` integer NOT NULL,
	`id` text NOT NULL,
	`name` text NOT NULL,
	`link` text NOT NULL,
	`title` text,
	`image` text,
	`clicks_count` integer,
	`link_mode` text,
	PRIMARY KEY(`profile_id`, `position`),
	FOREIGN KEY (`profile_id`) REFERENCES `profiles`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "links_position" CHECK("links"."position" >= 0),
	CONSTRAINT "links_clicks_count" CHECK("links"."clicks_count" >= 0)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `profile_names` (
	`folded` text PRIMARY KEY NOT NULL,
	`profile_id` integer NOT NULL,
	`position` integer NOT NULL,
	`name` text NOT NULL,
	FOREIGN KEY (`profile_id`) REFERENCES `profiles`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "profile_names_folded" CHECK(length("profile_names"."folded") BETWEEN 1 AND 64),
	CONSTRAINT "profile_names_name" CHECK(length("profile_names"."name") BETWEEN 1 AND 64),
	CONSTRAINT "profile_names_position" CHECK("profile_names"."position" >= 0)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE UNIQUE INDEX `profile_names_profile` ON `profile_names` (`profile_id`,`position`);--> statement-breakpoint
CREATE TABLE `profiles` (
	`id` integer PRIMARY KEY NOT NULL,
	`username` text NOT NULL,
	`display_name` text NOT NULL,
	`badges` text NOT NULL,
	`assets` text NOT NULL,
	`customize` text NOT NULL,
	`discord_id` text,
	`discord_clean` text NOT NULL,
	`banned` integer NOT NULL,
	`views_count` integer NOT NULL,
	`followers_count` integer NOT NULL,
	`show_followers_count` integer NOT NULL,
	`created_at` integer NOT NULL,
	`auth_id` text,
	`email` text,
	CONSTRAINT "profiles_id" CHECK("profiles"."id" BETWEEN 1 AND 9007199254740991),
	CONSTRAINT "profiles_banned" CHECK("profiles"."banned" IN (0, 1)),
	CONSTRAINT "profiles_show_followers_count" CHECK("profiles"."show_followers_count" IN (0, 1)),
	CONSTRAINT "profiles_views_count" CHECK("profiles"."views_count" BETWEEN 0 AND 9007199254740991),
	CONSTRAINT "profiles_followers_count" CHECK("profiles"."followers_count" BETWEEN 0 AND 9007199254740991),
	CONSTRAINT "profiles_badges" CHECK(json_type("profiles"."badges") = 'array'),
	CONSTRAINT "profiles_assets" CHECK(json_type("profiles"."assets") = 'object'),
	CONSTRAINT "profiles_customize" CHECK(json_type("profiles"."customize") = 'object'),
	CONSTRAINT "profiles_discord_clean" CHECK(json_type("profiles"."discord_clean") = 'object')
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `profiles_auth_id` ON `profiles` (`auth_id`);--> statement-breakpoint
CREATE INDEX `profiles_board` ON `profiles` ("views_count" DESC,`id`) WHERE banned = 0;--> statement-breakpoint
CREATE TRIGGER `api_keys_never_deleted` BEFORE DELETE ON `api_keys`
BEGIN
	SELECT RAISE(ABORT, 'keys are never deleted');
END;--> statement-breakpoint
CREATE TRIGGER `api_keys_born_pending` BEFORE INSERT ON `api_keys` WHEN NEW.`state` <> 'pending'
BEGIN
	SELECT RAISE(ABORT, 'a key begins as pending');
END;--> statement-breakpoint
CREATE TRIGGER `api_keys_three_places` BEFORE INSERT ON `api_keys`
WHEN (SELECT count(*) FROM `api_keys` WHERE `profile_id` = NEW.`profile_id` AND `state` IN ('pending', 'Active')) >= 3
BEGIN
	SELECT RAISE(ABORT, 'a profile has at most 3 keys');
END;--> statement-breakpoint
CREATE TRIGGER `api_keys_legal_moves` BEFORE UPDATE OF `state` ON `api_keys`
WHEN OLD.`state` <> NEW.`state`
	AND NOT (OLD.`state` = 'pending' AND NEW.`state` IN ('Active', 'rejected', 'withdrawn'))
	AND NOT (OLD.`state` = 'Active' AND NEW.`state` IN ('revoked', 'expired'))
BEGIN
	SELECT RAISE(ABORT, 'a key can not move so');
END;--> statement-breakpoint
CREATE TRIGGER `key_events_never_deleted` BEFORE DELETE ON `key_events`
BEGIN
	SELECT RAISE(ABORT, 'the history is append-only');
END;--> statement-breakpoint
CREATE TRIGGER `key_events_never_changed` BEFORE UPDATE ON `key_events`
WHEN NEW.`detail` IS NOT NULL OR NEW.`id` <> OLD.`id` OR NEW.`identifier` <> OLD.`identifier` OR NEW.`at` <> OLD.`at`
	OR NEW.`by` <> OLD.`by` OR NEW.`event` <> OLD.`event` OR NEW.`from_state` IS NOT OLD.`from_state`
	OR NEW.`to_state` <> OLD.`to_state`
BEGIN
	SELECT RAISE(ABORT, 'the history is append-only');
END;
