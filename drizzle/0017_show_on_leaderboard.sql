ALTER TABLE `profiles` ADD `show_on_leaderboard` integer DEFAULT true NOT NULL CONSTRAINT "profiles_show_on_leaderboard" CHECK("show_on_leaderboard" IN (0, 1));--> statement-breakpoint
DROP INDEX `profiles_board`;--> statement-breakpoint
CREATE INDEX `profiles_board` ON `profiles` (`views_count` DESC,`id`) WHERE banned = 0 AND show_on_leaderboard = 1;--> statement-breakpoint
CREATE INDEX `profiles_banned` ON `profiles` (`id`) WHERE banned = 1;
