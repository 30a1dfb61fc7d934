CREATE TABLE `notices` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`identifier` text NOT NULL,
	`kind` text NOT NULL,
	`recipient` text NOT NULL,
	`about` text NOT NULL,
	`at` integer NOT NULL,
	`tries` integer DEFAULT 0 NOT NULL,
	`next_try_at` integer NOT NULL,
	`result` text DEFAULT 'waiting' NOT NULL,
	`fault` text,
	FOREIGN KEY (`identifier`) REFERENCES `api_keys`(`identifier`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "notices_tries" CHECK("notices"."tries" >= 0),
	CONSTRAINT "notices_result" CHECK("notices"."result" IN ('waiting', 'accepted', 'refused', 'dropped', 'moot'))
) STRICT;
--> statement-breakpoint
CREATE INDEX `notices_key` ON `notices` (`identifier`,`recipient`,`id`);--> statement-breakpoint
CREATE INDEX `notices_waiting` ON `notices` (`next_try_at`) WHERE result = 'waiting';
--> statement-breakpoint
-- Reminders that are to be repeated are left out: the server finds them again. Of those whose sending was never confirmed
-- nobody knows whether they arrived, and they are not sent again.
INSERT INTO `notices` (`identifier`, `kind`, `recipient`, `about`, `at`, `tries`, `next_try_at`, `result`, `fault`)
	SELECT `identifier`, 'reminder', 'owner', json_object('stepDays', `step_days`, 'expiresAt', `key_reminders`.`expires_at`),
		`key_reminders`.`at`, 1, `key_reminders`.`at`,
		CASE `result` WHEN 'accepted' THEN 'accepted' WHEN 'refused' THEN 'refused' ELSE 'dropped' END,
		CASE `result` WHEN 'accepted' THEN NULL WHEN 'refused' THEN 'The mail server refused it.'
			ELSE 'Its delivery was not confirmed.' END
	FROM `key_reminders` JOIN `api_keys` USING (`identifier`)
	WHERE `result` <> 'to be repeated' AND `key_reminders`.`expires_at` > 0;
--> statement-breakpoint
DROP TABLE `key_reminders`;
