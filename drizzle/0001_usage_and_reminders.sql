CREATE TABLE `key_reminders` (
	`identifier` text NOT NULL,
	`step_days` integer NOT NULL,
	`at` integer NOT NULL,
	`result` text NOT NULL,
	PRIMARY KEY(`identifier`, `step_days`),
	FOREIGN KEY (`identifier`) REFERENCES `api_keys`(`identifier`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "key_reminders_step" CHECK("key_reminders"."step_days" >= 1),
	CONSTRAINT "key_reminders_result" CHECK("key_reminders"."result" IN ('sending', 'accepted', 'refused', 'not confirmed', 'to be repeated'))
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
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
	FOREIGN KEY (`identifier`) REFERENCES `api_keys`(`identifier`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "key_usage_counts" CHECK(min("key_usage"."ok", "key_usage"."not_found", "key_usage"."forbidden", "key_usage"."malformed", "key_usage"."limited", "key_usage"."failed") >= 0)
) STRICT, WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `key_usage_day` ON `key_usage` (`day`);
