-- Keys can be suspended. SQLite can't change a check, so the table is made anew, with its indexes and triggers.
CREATE TABLE `__new_api_keys` (
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
	`successor_of` text,
	`form_hash` blob,
	FOREIGN KEY (`profile_id`) REFERENCES `profiles`(`id`) ON UPDATE no action ON DELETE set null,
	FOREIGN KEY (`successor_of`) REFERENCES `api_keys`(`identifier`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "api_keys_identifier" CHECK(length(`identifier`) = 8 AND `identifier` NOT GLOB '*[^0-9A-Za-z]*'),
	CONSTRAINT "api_keys_state" CHECK(`state` IN ('pending', 'Active', 'suspended', 'rejected', 'withdrawn', 'revoked', 'expired')),
	CONSTRAINT "api_keys_owner" CHECK(`profile_id` IS NOT NULL OR `state` NOT IN ('pending', 'Active', 'suspended')),
	CONSTRAINT "api_keys_name" CHECK(length(`name`) BETWEEN 1 AND 255 OR (`name` = '' AND `profile_id` IS NULL)),
	CONSTRAINT "api_keys_description" CHECK(length(`description`) BETWEEN 80 AND 2000 OR (`description` = '' AND `profile_id` IS NULL)),
	CONSTRAINT "api_keys_project_url" CHECK(length(`project_url`) <= 2048),
	CONSTRAINT "api_keys_expected_usage" CHECK(length(`expected_usage`) <= 1000),
	CONSTRAINT "api_keys_secret" CHECK((`state` IN ('Active', 'suspended')) = (`secret_hash` IS NOT NULL)),
	CONSTRAINT "api_keys_secret_hash" CHECK(length(`secret_hash`) = 32),
	CONSTRAINT "api_keys_grant" CHECK(`state` NOT IN ('Active', 'suspended', 'revoked', 'expired') OR (`permissions` IS NOT NULL AND `rate_limits` IS NOT NULL)),
	CONSTRAINT "api_keys_form_hash" CHECK(length(`form_hash`) = 32),
	CONSTRAINT "api_keys_decided" CHECK((`state` = 'pending') = (`decided_at` IS NULL)),
	CONSTRAINT "api_keys_attempt_number" CHECK(`attempt_number` >= 0)
) STRICT;
--> statement-breakpoint
-- In the order of the rows: of keys that were requested in one millisecond, it tells which came first.
INSERT INTO `__new_api_keys` (`rowid`, `identifier`, `profile_id`, `name`, `description`, `project_url`, `expected_usage`, `state`, `requested_permissions`, `permissions`, `rate_limits`, `requested_at`, `decided_at`, `expires_at`, `secret_hash`, `attempt_number`, `successor_of`, `form_hash`)
	SELECT `rowid`, `identifier`, `profile_id`, `name`, `description`, `project_url`, `expected_usage`, `state`, `requested_permissions`, `permissions`, `rate_limits`, `requested_at`, `decided_at`, `expires_at`, `secret_hash`, `attempt_number`, `successor_of`, `form_hash`
	FROM `api_keys`;
--> statement-breakpoint
DROP TABLE `api_keys`;--> statement-breakpoint
ALTER TABLE `__new_api_keys` RENAME TO `api_keys`;--> statement-breakpoint
CREATE INDEX `api_keys_profile` ON `api_keys` (`profile_id`);--> statement-breakpoint
CREATE INDEX `api_keys_state` ON `api_keys` (`state`,`requested_at`);--> statement-breakpoint
CREATE INDEX `api_keys_expires` ON `api_keys` (`state`,`expires_at`) WHERE expires_at IS NOT NULL;--> statement-breakpoint
CREATE TRIGGER `api_keys_never_deleted` BEFORE DELETE ON `api_keys`
BEGIN
	SELECT RAISE(ABORT, 'keys are never deleted');
END;--> statement-breakpoint
CREATE TRIGGER `api_keys_born_pending` BEFORE INSERT ON `api_keys` WHEN NEW.`state` <> 'pending'
BEGIN
	SELECT RAISE(ABORT, 'a key begins as pending');
END;--> statement-breakpoint
CREATE TRIGGER `api_keys_three_places` BEFORE INSERT ON `api_keys`
WHEN (SELECT count(*) FROM `api_keys` WHERE `profile_id` = NEW.`profile_id` AND `state` IN ('pending', 'Active', 'suspended')
	AND (`expires_at` IS NULL OR `expires_at` > NEW.`requested_at`)) >= 3
BEGIN
	SELECT RAISE(ABORT, 'a profile has at most 3 keys');
END;--> statement-breakpoint
CREATE TRIGGER `api_keys_legal_moves` BEFORE UPDATE OF `state` ON `api_keys`
WHEN OLD.`state` <> NEW.`state`
	AND NOT (OLD.`state` = 'pending' AND NEW.`state` IN ('Active', 'rejected', 'withdrawn'))
	AND NOT (OLD.`state` = 'Active' AND NEW.`state` IN ('suspended', 'revoked', 'expired'))
	AND NOT (OLD.`state` = 'suspended' AND NEW.`state` IN ('Active', 'revoked', 'expired'))
BEGIN
	SELECT RAISE(ABORT, 'a key can not move so');
END;--> statement-breakpoint
CREATE TRIGGER `api_keys_successor` BEFORE INSERT ON `api_keys`
WHEN NEW.`successor_of` IS NOT NULL AND NOT EXISTS (
	SELECT 1 FROM `api_keys`
	WHERE `identifier` = NEW.`successor_of` AND `profile_id` = NEW.`profile_id` AND `state` = 'Active')
BEGIN
	SELECT RAISE(ABORT, 'a successor is requested for an Active key of the same profile');
END;--> statement-breakpoint
CREATE TRIGGER `api_keys_successor_never_changed` BEFORE UPDATE OF `successor_of` ON `api_keys`
WHEN NEW.`successor_of` IS NOT OLD.`successor_of`
BEGIN
	SELECT RAISE(ABORT, 'what a key succeeds never changes');
END;
