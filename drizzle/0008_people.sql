CREATE TABLE `admins` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`name` text NOT NULL,
	`folded` text NOT NULL,
	`generation` integer NOT NULL,
	`user_handle` blob NOT NULL,
	`added_at` integer NOT NULL,
	CONSTRAINT "admins_name" CHECK(length("admins"."name") BETWEEN 1 AND 64),
	CONSTRAINT "admins_user_handle" CHECK(length("admins"."user_handle") = 32)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `admins_folded` ON `admins` (`folded`);--> statement-breakpoint
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
	`confirmed_at` integer,
	`last_used_at` integer,
	FOREIGN KEY (`admin_id`) REFERENCES `admins`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "passkeys_credential_id" CHECK(length("passkeys"."credential_id") BETWEEN 1 AND 1023),
	CONSTRAINT "passkeys_sign_count" CHECK("passkeys"."sign_count" BETWEEN 0 AND 4294967295),
	CONSTRAINT "passkeys_is_backup_eligible" CHECK("passkeys"."is_backup_eligible" IN (0, 1)),
	CONSTRAINT "passkeys_name" CHECK(length("passkeys"."name") BETWEEN 1 AND 64)
) STRICT;
--> statement-breakpoint
CREATE UNIQUE INDEX `passkeys_credential_id` ON `passkeys` (`credential_id`);--> statement-breakpoint
CREATE INDEX `passkeys_admin` ON `passkeys` (`admin_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `passkeys_unconfirmed` ON `passkeys` (`admin_id`) WHERE confirmed_at IS NULL;--> statement-breakpoint
CREATE TABLE `people_events` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`at` integer NOT NULL,
	`by` text NOT NULL,
	`by_kind` text NOT NULL,
	`event` text NOT NULL,
	`kind` text NOT NULL,
	`name` text NOT NULL,
	`detail` text,
	CONSTRAINT "people_events_by_kind" CHECK("people_events"."by_kind" IN ('operator', 'admin', 'owner', 'platform', 'service')),
	CONSTRAINT "people_events_kind" CHECK("people_events"."kind" IN ('admin', 'platform'))
) STRICT;
--> statement-breakpoint
CREATE TRIGGER `people_events_never_deleted` BEFORE DELETE ON `people_events`
BEGIN
	SELECT RAISE(ABORT, 'the log is append-only');
END;--> statement-breakpoint
CREATE TRIGGER `people_events_never_changed` BEFORE UPDATE ON `people_events`
BEGIN
	SELECT RAISE(ABORT, 'the log is append-only');
END;
