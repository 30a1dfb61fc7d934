-- Notices about profiles and admins, not only about keys. SQLite can't make a column nullable, so the table is made anew.
CREATE TABLE `__new_notices` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`identifier` text,
	`profile_id` integer,
	`kind` text NOT NULL,
	`recipient` text NOT NULL,
	`about` text NOT NULL,
	`at` integer NOT NULL,
	`tries` integer DEFAULT 0 NOT NULL,
	`next_try_at` integer NOT NULL,
	`result` text DEFAULT 'waiting' NOT NULL,
	`fault` text,
	`sent_at` integer,
	FOREIGN KEY (`identifier`) REFERENCES `api_keys`(`identifier`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`profile_id`) REFERENCES `profiles`(`id`) ON UPDATE no action ON DELETE cascade,
	CONSTRAINT "notices_tries" CHECK(`tries` >= 0),
	CONSTRAINT "notices_result" CHECK(`result` IN ('waiting', 'accepted', 'refused', 'dropped', 'moot')),
	CONSTRAINT "notices_subject" CHECK((`identifier` IS NOT NULL) + (`profile_id` IS NOT NULL) = (`kind` <> 'enrolment'))
) STRICT;
--> statement-breakpoint
-- The ids of rows that were removed never come again, so the new table counts on from the old one.
INSERT INTO `sqlite_sequence` (`name`, `seq`) SELECT '__new_notices', `seq` FROM `sqlite_sequence` WHERE `name` = 'notices';
--> statement-breakpoint
INSERT INTO `__new_notices` (`id`, `identifier`, `kind`, `recipient`, `about`, `at`, `tries`, `next_try_at`, `result`, `fault`)
	SELECT `id`, `identifier`, `kind`, `recipient`, `about`, `at`, `tries`, `next_try_at`, `result`, `fault` FROM `notices`;
--> statement-breakpoint
DROP TABLE `notices`;
--> statement-breakpoint
ALTER TABLE `__new_notices` RENAME TO `notices`;
--> statement-breakpoint
CREATE INDEX `notices_key` ON `notices` (`identifier`,`recipient`,`id`);--> statement-breakpoint
CREATE INDEX `notices_profile` ON `notices` (`profile_id`,`recipient`,`id`);--> statement-breakpoint
CREATE INDEX `notices_waiting` ON `notices` ((kind = 'address'),`next_try_at`) WHERE result = 'waiting';--> statement-breakpoint
CREATE INDEX `notices_requests` ON `notices` (`recipient`,`sent_at`) WHERE kind = 'request';
