CREATE TABLE `erased_profiles` (
	`id` integer PRIMARY KEY NOT NULL,
	`at` integer NOT NULL
) STRICT;
--> statement-breakpoint
CREATE INDEX `erased_profiles_at` ON `erased_profiles` (`at`);--> statement-breakpoint
ALTER TABLE `profiles` ADD `written_at` integer DEFAULT 0 NOT NULL;