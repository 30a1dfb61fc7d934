CREATE TABLE `profile_changes` (
	`seq` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`profile_ids` text
) STRICT;
--> statement-breakpoint
INSERT INTO `profile_changes` DEFAULT VALUES;
